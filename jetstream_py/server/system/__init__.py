"""The system account: services that answer questions about the server, and events that it tells.

`table` names the subjects, `requests` what may be asked, `services` answers, `events` tells. The answers
themselves are those of monitoring over HTTP.
"""
