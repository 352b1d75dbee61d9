import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderJson, renderTerminal } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { fetchAnalysis } from './admin-client.ts'
import { checkFile, nameOf, textOf } from './check-file.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { prepareFor } from './load-configuration.ts'
import { ADMIN, configurationsOf, FILES, FORMAT, formatOf, readArgs } from './read-args.ts'

export const validate = defineCommand({
  name: 'validate',
  summary: 'alias of `check`',
  mayTakeLong: true,
  help: `portcullis validate [FILE...] [--deny-warnings] [--profile agentgateway]
                    [--format text|json]
portcullis validate [FILE] --admin URL [--format text|json]

Reads each FILE (by default portcullis.yaml in the current folder; - for standard input) and
the files that it references, as the gateway does, and prints all errors and warnings with
their locations: what the gateway would reject, everything that \`portcullis lint\` finds in
the policies, and what the configuration needs but is not there, such as a program, a price
or a key. FILE can also be a file or folder of Kubernetes manifests (Gateways, routes and
policies), which are read as the controller does. Warnings do not change the exit code.

  --deny-warnings exit with 1 if there are warnings, too
  --profile agentgateway
                  FILE was written for agentgateway: also list, once each, the settings
                  that have a different meaning here
  --admin URL     validate FILE on a running gateway, with its files and keys and without
                  \`config\` of FILE; without FILE, print the diagnostics of the running
                  configuration. Sends the token in PORTCULLIS_ADMIN_TOKEN
  --format text   text output (default)
  --format json   counts and messages as one object; short form: --json

Exit code: 0 without errors; 1 with errors or, with --deny-warnings, with warnings; 2 for a
usage error.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const format = formatOf(read.values, ['text', 'json'])
    if (read.values.admin !== undefined) return validateServed(read.values.admin, read, terminal)
    const files = configurationsOf(read)
    const differences = await differencesFor(read.values.profile)
    await prepareFor(...files)
    const checked = files.map((file) => {
      const text = textOf(file, terminal)
      const elsewhere = text === undefined ? [] : differences(text, nameOf(file))
      return { file, diagnostics: [...checkFile(file, text, terminal), ...elsewhere] }
    })
    const all = checked.flatMap(({ diagnostics }) => diagnostics)
    if (format === 'json') terminal.out(`${renderJson(all)}\n`)
    else for (const { file, diagnostics } of checked) print(file, diagnostics, terminal)
    return isBad(all, read.values) ? 1 : 0
  },
})

async function validateServed(
  admin: string,
  { values, positionals }: ReturnType<typeof parse>,
  terminal: Terminal,
): Promise<number> {
  const [file, ...more] = [...(values.file ?? []), ...positionals]
  if (more.length > 0 || values.profile !== undefined) {
    throw new UsageError('--admin accepts at most one file and cannot be combined with --profile')
  }
  const found = await servedDiagnostics(admin, file, terminal)
  if (found === undefined) return 1
  if (formatOf(values, ['text', 'json']) === 'json') terminal.out(`${renderJson(found)}\n`)
  else print(file ?? admin, found, terminal)
  return isBad(found, values) ? 1 : 0
}

function isBad(
  found: readonly Diagnostic[],
  { 'deny-warnings': denies }: { readonly 'deny-warnings'?: boolean },
): boolean {
  return hasErrors(found) || (denies === true && found.some((one) => one.severity === 'warning'))
}

async function servedDiagnostics(
  admin: string,
  file: string | undefined,
  terminal: Terminal,
): Promise<readonly Diagnostic[] | undefined> {
  const { environment } = terminal
  let reply: { readonly diagnostics: readonly Diagnostic[] } | string
  if (file === undefined) reply = await fetchAnalysis(admin, '/api/diagnostics', environment)
  else {
    const { changesTowards } = await import('./admin-changes.ts')
    const towards = await changesTowards(admin, file, 'validate', terminal)
    if (towards === undefined) return undefined
    const { changes } = towards
    reply = await fetchAnalysis(admin, '/api/config/validate', environment, { changes })
  }
  if (typeof reply !== 'string') return reply.diagnostics
  terminal.err(`portcullis validate: ${reply}\n`)
  return undefined
}

/** The short and recommended name of the same command. */
export const check = defineCommand({
  ...validate,
  name: 'check',
  summary: 'check configuration files: all errors and warnings, with mistakes in policies',
  help: validate.help
    .replaceAll('portcullis validate', 'portcullis check')
    .replaceAll('\n                    [', '\n                 ['),
})

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...FILES,
      ...ADMIN,
      ...FORMAT,
      profile: { type: 'string' },
      'deny-warnings': { type: 'boolean' },
    },
  })
}

type Differences = (text: string, file: string) => readonly Diagnostic[]

/** Differences in meaning of a file that was written for another gateway. */
async function differencesFor(profile: string | undefined): Promise<Differences> {
  if (profile === undefined) return () => []
  if (profile !== 'agentgateway') {
    throw new UsageError(`unknown profile \`${profile}\`; available: agentgateway`)
  }
  const { agentgatewayDifferences } = await import('./profile-agentgateway.ts')
  return agentgatewayDifferences
}

function print(file: string, diagnostics: readonly Diagnostic[], terminal: Terminal): void {
  const { colour, width = 100 } = terminal
  if (diagnostics.length > 0) {
    terminal.out(`${renderTerminal(diagnostics, { colour, width })}\n\n`)
  }
  terminal.out(`${file}: ${renderCount(diagnostics)}\n`)
}
