import { readFileSync } from 'node:fs'
import own from '../../package.json' with { type: 'json' }
import { readDecisions } from '../analysis/decisions/read.ts'
import { type DecisionSummary, summarise } from '../analysis/decisions/summary.ts'
import { locateFindings } from '../analysis/lint/finding.ts'
import {
  asFindings,
  type Exposure,
  type Finding,
  type LintOptions,
  lint,
} from '../analysis/lint/lint.ts'
import { suppress } from '../analysis/lint/suppress.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderJson, renderTerminal } from '../diagnostics/render.ts'
import { renderSarif } from '../diagnostics/render-sarif.ts'
import { collector } from '../diagnostics/report.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import { type Loaded, loadFile, loadText } from '../sources/file/load.ts'
import { fetchAnalysis } from './admin-client.ts'
import { checkModel } from './check-model.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { fixFile } from './lint-fix.ts'
import { isManifests, loadConfiguration, prepareFor } from './load-configuration.ts'
import {
  ADMIN,
  CLUSTER,
  configurationsOf,
  FILES,
  FORMAT,
  formatOf,
  nameOf,
  readArgs,
  withoutFiles,
} from './read-args.ts'
import { readText } from './read-text.ts'

export const lintCommand = defineCommand({
  name: 'lint',
  summary: 'find policy mistakes: rules that never match, admit too much or have no effect',
  mayTakeLong: true,
  help: `portcullis lint [FILE...] [--format text|json|sarif] [--fix] [--max-warnings N]
                [--decisions FILE] [--service GATEWAY=TYPE/POLICY]
portcullis lint --admin URL [--format text|json|sarif] [--max-warnings N]

Reads each FILE (by default portcullis.yaml in the current folder; - for standard input) as
the gateway does, and reports mistakes in its policies. A finding is an error only if it is
proven. Every code has a page in docs/errors.
FILE can also be a file or folder of Kubernetes manifests.

  --cluster           use the objects in the cluster that KUBECONFIG selects
  --admin URL         use the configuration of a running gateway; sends the token in
                      PORTCULLIS_ADMIN_TOKEN
  --format text       text output (default)
  --format json       counts and findings as one object; short form: --json
  --format sarif      SARIF 2.1.0, for code hosts and editors
  --fix               fix in place what can be fixed without changing any decision;
                      preserves comments and formatting
  --max-warnings N    fail if there are more than N warnings
  --decisions FILE    recorded decisions (JSON lines): also report rules that decided
                      nothing and claims that no token had
  --service G=T/P     the Service in front of gateway G has type T and
                      externalTrafficPolicy P, for example default=LoadBalancer/Cluster

To suppress a finding, add a comment with the reason on its line or the line above:
  # lint: AZ012 /apix is ours too

Exit code: 0 without errors, 1 with errors or too many warnings, 2 for a usage error.`,
  run: async (args, terminal) => {
    const { files, format, max, isFixing, options, admin } = parse(args)
    await prepareFor(...files)
    const all: Diagnostic[] = []
    if (admin !== undefined) {
      const found = await fetchAnalysis<Findings>(
        admin,
        '/api/policies/lint',
        terminal.environment,
        {},
      )
      if (typeof found === 'string') {
        terminal.err(`portcullis lint: ${found}\n`)
        return 1
      }
      all.push(...found.diagnostics)
      if (format === 'text') print(admin, asFindings(all), false, terminal)
    }
    for (const file of files) {
      const isText = file !== '-' && !isManifests(file) && textOf(file) !== undefined
      const isFixed = isFixing && isText
      if (isFixed) terminal.err(fixFile(file, options, terminal.environment))
      const found = lintFile(file, options, terminal)
      all.push(...found.map(({ diagnostic }) => diagnostic))
      if (format === 'text') print(file, found, isFixed, terminal)
    }
    if (format === 'json') terminal.out(`${renderJson(all)}\n`)
    if (format === 'sarif') terminal.out(`${renderSarif(all, own.version)}\n`)
    if (format === 'text' && options.decisions === undefined) terminal.out(NOT_ASKED)
    const warnings = all.filter(({ severity }) => severity === 'warning').length
    return hasErrors(all) || warnings > max ? 1 : 0
  },
})

/** The output of `--format json` and of the admin API. */
interface Findings {
  readonly diagnostics: readonly Diagnostic[]
}

const NOT_ASKED =
  'not checked without --decisions: AZ020, claims that no token had (AZ017, AZ019)\n'

/** All findings of one file, including those of its reader. */
function lintFile(file: string, options: LintOptions, terminal: Terminal): readonly Finding[] {
  if (file !== '-' && isManifests(file)) return lintManifests(file, options, terminal)
  const isInput = file === '-'
  const { environment } = terminal
  const name = isInput ? 'standard-input' : file
  const text = isInput ? terminal.readInput() : textOf(file)
  if (text === undefined) return asFindings(loadFile(file, { environment }).result.diagnostics)
  return lintLoaded(loadText(text, name, { environment }), text, name, options)
}

/** All findings of a loaded configuration; `text` contains the comments that suppress some. */
export function lintLoaded(
  { result: { value: model, diagnostics }, places }: Pick<Loaded, 'result' | 'places'>,
  text: string,
  name: string,
  options: LintOptions,
): readonly Finding[] {
  const findings = model === undefined ? [] : locateFindings(places, lint(model, options))
  const all = collector()
  for (const diagnostic of diagnostics) all.report(diagnostic)
  if (model !== undefined && !hasErrors(diagnostics)) {
    const further = withoutRepeated(diagnostics, checkModel(places, model))
    for (const diagnostic of further) all.report(diagnostic)
  }
  return suppress([...asFindings(all.diagnostics()), ...findings], text, name).toSorted(byPlace)
}

/** Kubernetes objects have no lines, so no comment can suppress a finding. */
function lintManifests(
  file: string,
  options: LintOptions,
  { environment }: Terminal,
): readonly Finding[] {
  const { value: model, diagnostics } = loadConfiguration(file, { environment }).result
  const seen = diagnostics.map(asJudged)
  return [...asFindings(seen), ...(model === undefined ? [] : lint(model, options))]
}

/** What a cluster reports in the status of a route, such as its namespace, is no policy mistake. */
function asJudged(diagnostic: Diagnostic): Diagnostic {
  const { severity, code, origin } = diagnostic
  const isOfPolicy = origin.kind === 'object' && origin.object.startsWith('ProxyPolicy ')
  const isStatus = severity === 'error' && code.startsWith('PC07') && origin.kind === 'object'
  return isStatus && !isOfPolicy ? { ...diagnostic, severity: 'warning' } : diagnostic
}

function byPlace({ diagnostic: a }: Finding, { diagnostic: b }: Finding): number {
  if (a.origin.kind !== 'file' || b.origin.kind !== 'file') return 0
  return a.origin.line - b.origin.line || a.origin.column - b.origin.column
}

/** Findings that remain after `--fix` could not be fixed. */
function print(
  file: string,
  findings: readonly Finding[],
  isFixed: boolean,
  terminal: Terminal,
): void {
  const { colour, width = 100 } = terminal
  const diagnostics = findings.map(({ diagnostic }) => diagnostic)
  if (diagnostics.length > 0) {
    terminal.out(`${renderTerminal(diagnostics, { colour, width })}\n\n`)
  }
  const fixable = findings.filter(({ fix }) => fix !== undefined).length
  const more = fixable === 0 || isFixed ? '' : `; \`--fix\` fixes ${fixable}`
  terminal.out(`${nameOf(file)}: ${renderCount(diagnostics)}${more}\n`)
}

function parse(args: readonly string[]) {
  const read = parsed(args)
  const { values } = read
  const { admin } = values
  if (admin !== undefined) withoutFiles(read, ['cluster', 'fix', 'decisions', 'service'])
  const files = admin === undefined ? configurationsOf(read) : []
  const format = values.sarif === true ? 'sarif' : formatOf(values, ['text', 'json', 'sarif'])
  const max = values['max-warnings'] === undefined ? Infinity : Number(values['max-warnings'])
  if (Number.isNaN(max) || max < 0) throw new UsageError('--max-warnings must be a number')
  const options: LintOptions = {
    ...(values.service === undefined ? {} : { exposures: exposures(values.service) }),
    ...(values.decisions === undefined ? {} : { decisions: summaryOf(values.decisions) }),
  }
  return { files, format, max, isFixing: values.fix === true, options, admin }
}

function parsed(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...FILES,
      ...CLUSTER,
      ...ADMIN,
      ...FORMAT,
      sarif: { type: 'boolean' },
      fix: { type: 'boolean' },
      'max-warnings': { type: 'string' },
      decisions: { type: 'string' },
      service: { type: 'string', multiple: true },
    },
  })
}

function exposures(texts: readonly string[]): ReadonlyMap<string, Exposure> {
  return new Map(
    texts.map((text) => {
      const [, gateway, type, externalTrafficPolicy] = /^(.+)=(\w+)\/(\w+)$/.exec(text) ?? []
      if (gateway === undefined || type === undefined || externalTrafficPolicy === undefined) {
        throw new UsageError(`--service must be GATEWAY=TYPE/POLICY, not ${text}`)
      }
      return [gateway, { type, externalTrafficPolicy }]
    }),
  )
}

function summaryOf(file: string): DecisionSummary {
  return summarise(readDecisions(readText(file)).decisions)
}

/** Undefined if it cannot be read. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
