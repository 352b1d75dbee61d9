import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Environment } from '../sources/file/expand.ts'
import { type ControllerOptions, controllerOf } from './controller-source.ts'
import { UsageError } from './define.ts'
import { isOwnFile, ownFile } from './own-files.ts'
import { DEFAULT_FILE, readArgs } from './read-args.ts'

export const RUN_HELP = `portcullis run [FILE | -f FILE] [--no-strict] [--xds ADDRESS]

Serves FILE, and reloads it when it or a file that it references changes. A changed file
with an error is rejected, and the gateway keeps the previous configuration. A rule that can
never match, such as a rule on \`jwt\` without authentication, is also an error.

  -f, --file FILE   the configuration, YAML or JSON (default: portcullis.yaml in the
                    current folder)
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

/** At least one of both: the file, or a controller that delivers everything but the settings. */
export type RunOptions = { readonly isStrict: boolean } & (
  | { readonly file: string; readonly controller: ControllerOptions | undefined }
  | { readonly file: undefined; readonly controller: ControllerOptions }
)

export function runOptionsOf(args: readonly string[], environment: Environment): RunOptions {
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
  const controller = controllerOf(values.xds, environment)
  const isStrict = values.strict ?? true
  const named = values.file ?? positionals[0]
  if (named === undefined && controller !== undefined) {
    return { file: undefined, isStrict, controller }
  }
  return { file: resolve(named ?? fileHere()), isStrict, controller }
}

function fileHere(): string {
  if (existsSync(DEFAULT_FILE)) return DEFAULT_FILE
  throw new UsageError(
    `specify a file: the current folder has no ${DEFAULT_FILE}; \`portcullis init\` writes one, and \`portcullis demo\` serves an example`,
  )
}

const QUICKSTART = 'examples/quickstart.yaml'
let copied: string | undefined

/** The file of the demo, which a single-file release copies to where it can be edited. */
export function demoFile(): string {
  copied = ownFile(QUICKSTART)
  return copied
}

export function isDemo(path: string): boolean {
  return path === copied || isOwnFile(path, QUICKSTART)
}
