"""x"""


def write(records: object, folder: object) -> None:
    pass
