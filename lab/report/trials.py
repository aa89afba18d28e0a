"""x"""


def write(records, folder):
    pass
