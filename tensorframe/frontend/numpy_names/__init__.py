"""What programs for NumPy name beside the standard: functions composed of those in other folders, loaded when named."""
