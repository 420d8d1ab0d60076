package early

import _ "github.com/interlock-run/interlock/services/internal/jailer/stage/first" // the inner part of jails
