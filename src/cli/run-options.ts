import { resolve } from 'node:path'
import type { Environment } from '../sources/file/expand.ts'
import { controllerOf } from './controller-source.ts'
import { UsageError } from './define.ts'
import { readArgs } from './read-args.ts'

export const RUN_HELP = `portcullis run [FILE | -f FILE] [--no-strict] [--xds ADDRESS]

Serves FILE, and reloads it when it or a file that it references changes. A changed file
with an error is rejected, and the gateway keeps the previous configuration. A rule that can
never match, such as a rule on \`jwt\` without authentication, is also an error. Without FILE,
it serves an example configuration with an embedded backend, and stores changes that are
made with the admin API in an embedded PostgreSQL server, in the folder that
PORTCULLIS_DATA specifies (default: the data folder of the user).

  -f, --file FILE   the configuration, YAML or JSON
      --strict      reject the entire configuration if it has any error, at startup and
                    on reload (default)
      --no-strict   apply the valid parts: an invalid policy denies what it guards, an
                    invalid route returns 500, an invalid listener closes its
                    connections, and the rest is served
      --xds ADDRESS serve the configuration from the controller at https://HOST:PORT,
                    applying its valid parts; FILE then contains only \`config\`. The
                    default is PORTCULLIS_XDS_ADDRESS. Environment variables that
                    specify files:
                    PORTCULLIS_XDS_CA, the trusted CA certificates;
                    PORTCULLIS_XDS_TOKEN, the token of the proxy;
                    PORTCULLIS_XDS_STATE, where the last configuration is stored, to
                    serve it after a restart while the controller is unavailable

SIGHUP reloads the configuration. SIGTERM and SIGINT finish active requests, then stop.

Exit code: 0 after a signal, 1 if it cannot start, 2 for a usage error.`

export function runOptionsOf(args: readonly string[], environment: Environment) {
  const { values, positionals } = readArgs({
    args: [...args],
    options: {
      file: { type: 'string', short: 'f' },
      strict: { type: 'boolean' },
      xds: { type: 'string' },
    },
    allowPositionals: true,
    allowNegative: true,
  })
  if (positionals.length > 1) throw new UsageError('specify exactly one file')
  const file = values.file ?? positionals[0]
  return {
    file: file === undefined ? undefined : resolve(file),
    isStrict: values.strict ?? true,
    controller: controllerOf(values.xds, environment),
  }
}
