def run_ranges(function, total, grain, varying, fixed):
    function.call(0, total, varying, fixed)
