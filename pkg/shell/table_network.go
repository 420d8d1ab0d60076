package shell

// networkTable holds programs that fetch and send. What they change elsewhere is
// not R3's matter; what they write here is.
const networkTable = `
curl:: @expands --ssl-sessions=outdash --engine=unseen -o,--output=outdash -O,--remote-name:writes --remote-name-all:writes -J,--remote-header-name:writes --output-dir=writes --create-dirs:writes -D,--dump-header=outdash -c,--cookie-jar=outdash -K,--config=unseen --trace=outdash --trace-ascii=outdash --stderr=outdash --libcurl=outdash --hsts=outdash --alt-svc=outdash --etag-save=outdash --keylog=outdash -w,--write-out=format --variable=reads --expand-url=reads --expand-data=reads --expand-header=reads --expand-user=reads --expand-output=out -A= -b= -C= -d= -e= -E= -F= -H= -m= -P= -Q= -r= -t= -T,--upload-file=uploads --proto-default=writes -u= -U= -x= -X= -y= -Y= -z= --data= --data-raw= --data-binary= --data-urlencode= --header= --request= --url= --user= --user-agent= --max-time= --connect-timeout= --retry= --retry-delay= --cert= --key= --cacert= --proxy= --resolve= --cookie= --form= --json= --range= --referer= --limit-rate= --interface= --unix-socket= --next
wget:: @writes -O,--output-document=tostdout -o,--output-file=out -a,--append-output=out --spider:quiet -P= --use-askpass=run --config=unseen -e,--execute=unseen --save-cookies=out --rejected-log=out --warc-file=out -i= -B= -t= -T= -w= -Q= -U= --header= --post-data= --post-file= --method= --body-data= --user= --password= -l= -A= -R= -D= -I= -X=
aria2c|axel|youtube-dl|yt-dlp|ncftpget|ncftpput|rcp|rclone|s3cmd|gdown|megadl|httrack|unison|syncthing|croc|magic-wormhole:: @writes
lftp|ftp|tftp|ncftp|psftp:: @writes @inline
scp|sftp:: @writes -S=run -D=run -o=sshoption -F=unseen -b= -B= -c= -i= -J= -l= -P= -R= -s= -X=
http|https|xh|xhs:: -d,--download:writes -o,--output=out -c,--continue:writes --session=out
ssh|autossh|slogin:: @runs1 @joins @remote -o=sshoption -F=unseen -E=out -S=writes -i= -l= -p= -b= -B= -c= -D= -e= -I= -J= -L= -m= -O= -Q= -R= -w= -W= -V:quiet -v -q -t -T -n -N -f -x -X -Y -A -a -4 -6 -C -g -k -K -G -M -s -y
sshpass:: @runs0 -p= -f= -d= -P=
mosh|telnet|rsh|rlogin|rexec|dbclient:: @writes @inline
nc|ncat|netcat|nc.openbsd|nc.traditional:: -e,--exec=script -c,--sh-exec=script --lua-exec=unseen -o,--output=out -x,--hex-dump=out -p= -w= -i= -s= -q=
socat:: @hidden
nmap:: -o=writes -oN=out -oX=out -oG=out -oA=out -oS=out --script=unseen --interactive:code -p=
glab|hub:: @sub -R= --repo=
gh:: @sub @closed -R= --repo= --version,--help,-h:quiet
gh attestation|gh browse|gh cache|gh completion|gh gpg-key|gh label|gh org|gh project|gh ruleset|gh search|gh secret|gh ssh-key|gh status|gh variable|gh workflow|gh version|gh help:: --clone:writes
gh repo|gh pr|gh release|gh run|gh gist|gh extension|gh alias|gh config|gh auth|gh codespace|gh issue|gh api|glab repo|glab mr:: @sub
gh repo clone|gh repo fork|gh repo create|gh repo sync|gh pr checkout|gh release download|gh run download|gh gist clone|gh extension install|gh extension remove|gh extension upgrade|gh extension create|gh extension exec|gh alias set|gh alias import|gh alias delete|gh config set|gh auth login|gh auth logout|gh auth setup-git|gh codespace cp|gh codespace ssh|glab repo clone|glab mr checkout:: @writes
aws:: @sub --region= --profile= --output= --endpoint-url=
aws s3|aws s3api|aws configure:: @sub
aws s3api get-object|aws s3api get-object-torrent|aws s3api select-object-content:: @writes
aws s3 cp|aws s3 mv|aws s3 sync|aws s3 rm|aws configure set|aws configure import:: @writes
gsutil|gcloud|az|doctl|flyctl|heroku:: @sub
az storage|az storage blob|az storage file|az storage fs|az storage fs file|az keyvault|az keyvault secret|az keyvault key|az keyvault certificate:: @sub
az storage blob download|az storage blob download-batch|az storage file download|az storage file download-batch|az storage fs file download|az keyvault secret download|az keyvault key download|az keyvault certificate download:: @writes
gsutil cp|gsutil mv|gsutil rsync|gsutil rm|gcloud init:: @writes
`
