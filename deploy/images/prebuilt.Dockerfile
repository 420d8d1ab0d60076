# Image of a program that was built before: FROM scratch, so that nothing is pulled. The
# folder of the build has the program as "program", LICENSE, NOTICE and, for TLS to other
# hosts, "ca-certificates.crt". tools/cluster makes its images so.
FROM scratch
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY LICENSE NOTICE /licenses/
COPY program /interlock
USER 65532:65532
ENTRYPOINT ["/interlock"]
