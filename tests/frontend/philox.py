"""The generator of random words in plain Python, as the paper's figure has it."""


def block(key, counter):
    """Return one block of Philox 4x32-10: four words."""
    mask = 0xFFFFFFFF
    x = [counter >> 32 * lane & mask for lane in range(4)]
    k = [key & mask, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [second >> 32 ^ x[1] ^ k[0], second & mask, first >> 32 ^ x[3] ^ k[1], first & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return x


def word(key, counter, number):
    """Return the word of this number of those that blocks give from a counter on."""
    return block(key, counter + number // 4)[number % 4]
