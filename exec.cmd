@rem cmd.exe has no exec, which npm start needs in other shells so that signals reach the gateway.
@%*
