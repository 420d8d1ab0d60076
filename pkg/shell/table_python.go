package shell

// libraryNames are modules of python that are no programs, or programs which may do anything.
const libraryNames = `
abc aifc antigravity argparse array asynchat asyncore atexit audioop bdb binascii bisect builtins bz2 cgi cgitb chunk cmath cmd codecs codeop
collections colorsys concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal distutils
email encodings enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib
grp hashlib heapq hmac html  idlelib imaplib imghdr imp importlib io ipaddress itertools linecache logging lzma mailbox mailcap marshal math mmap
modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pickle pipes
pkgutil plistlib poplib posix posixpath pprint pstats pty pwd pydoc_data pyexpat queue random re readline reprlib resource rlcompleter sched secrets
select selectors shelve shlex shutil signal smtpd smtplib sndhdr socket socketserver spwd sre_compile sre_constants sre_parse ssl stat statistics
string stringprep subprocess sunau sys syslog telnetlib tempfile termios test threading time tkinter token tomllib traceback tracemalloc tty turtle
turtledemo types typing unicodedata urllib warnings wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipimport zlib zoneinfo
`
