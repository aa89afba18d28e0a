"""Write trials and verdicts for other programs (qvis, Perfetto, Wireshark, data frames, KCIDB): `lab export`."""

from lab.ext import Extension

EXTENSION = Extension(
    commands=("export",),
    section="Share",
    examples={
        "export": (
            "lab export tcp-nodelay/nagle-stall --qlog",
            "lab export tcp-nodelay/nagle-stall --perfetto -o nagle.perfetto-trace",
            "lab export tcp-nodelay/nagle-stall --tcp-info -o sockets.csv",
            "lab export tcp-nodelay --table figures.csv",
            "lab export --kcidb -o report.json",
            "lab export --wireshark ~/.config/wireshark",
        )
    },
    functions=("export_kcidb", "export_perfetto", "export_qlog", "export_table", "export_tcp_info", "export_wireshark"),
)
