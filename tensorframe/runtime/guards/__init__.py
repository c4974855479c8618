"""Guards: functions printed for the graphs that one line evaluates again and again, which recognise and run them."""
