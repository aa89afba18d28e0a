"""Define the commands, by subject. Each command calls `lab.app` or a layer, prints the result, and sets the exit
code.
"""
