import { resolve } from 'node:path'
import type { Environment } from '../sources/file/expand.ts'
import { controllerOf } from './controller-source.ts'
import { UsageError } from './define.ts'
import { readArgs } from './read-args.ts'

export const RUN_HELP = `portcullis run [-f FILE] [--no-strict] [--xds ADDRESS]

Serves FILE, and applies changes of it and of the files that it names while it runs: a
change with an error changes nothing. A rule that can never match, as one on \`jwt\`
without authentication, is an error here too. Without FILE it serves an example with a
backend of its own, and stores changes made by its admin API in a PostgreSQL server of
its own, in the folder that the variable PORTCULLIS_DATA names (of the user by default).

  -f, --file FILE   the configuration, YAML or JSON
      --strict      reject a configuration with any error as a whole, at the start and
                    on reload; this is the default
      --no-strict   apply it part by part: an invalid policy denies what it guards, an
                    invalid route gets 500, an invalid listener closes its
                    connections, and the rest is served
      --xds ADDRESS serve what the controller at https://HOST:PORT delivers, part by
                    part; FILE has only \`config\` then. The default is the variable
                    PORTCULLIS_XDS_ADDRESS. Files that are named by variables:
                    PORTCULLIS_XDS_CA, certificates that are trusted;
                    PORTCULLIS_XDS_TOKEN, the token of the proxy;
                    PORTCULLIS_XDS_STATE, where the last configuration is stored, which
                    is served after a restart while the controller is away

SIGHUP reads the configuration again, SIGTERM and SIGINT let requests finish first.

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
  if (positionals.length > 1) throw new UsageError('name one file')
  const file = values.file ?? positionals[0]
  return {
    file: file === undefined ? undefined : resolve(file),
    isStrict: values.strict ?? true,
    controller: controllerOf(values.xds, environment),
  }
}
