"""The card of a tensor, in the order in which it is made.

`sample` chooses which elements are drawn, `look` computes them with those that are printed, `text` prints, `picture`
draws: by `line`, or by `image` and `png`. `numbers` and `state` say the rest in words. `html` puts it all together.
"""
