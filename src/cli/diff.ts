import { oncePerCause } from '../analysis/diff/causes.ts'
import { compareModels } from '../analysis/diff/compare.ts'
import type { Difference, SemanticDiff, Verdict } from '../analysis/diff/difference.ts'
import type { ExampleRequest } from '../analysis/diff/example.ts'
import { compareMessages } from '../analysis/diff/messages.ts'
import { compareModelCalls } from '../analysis/diff/model-calls.ts'
import { isSame } from '../analysis/diff/same-parts.ts'
import { exactJson } from '../cel/values/json-exact.ts'
import { visible } from '../diagnostics/text-cells.ts'
import type { ClientCertificate } from '../exchange/connection.ts'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import type { HypotheticalRequest } from '../program/explain.ts'
import { isGoodNow } from '../program/hypothetical-token.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { prepareFor } from './load-configuration.ts'
import { loadJudged } from './load-judged.ts'
import {
  ADMIN,
  CLUSTER,
  CLUSTER_PATH,
  defaultFile,
  FORMAT,
  formatOf,
  readArgs,
} from './read-args.ts'
import { openVerdicts, type SetModel, type Verdicts } from './verdicts.ts'

export const diff = defineCommand({
  name: 'diff',
  summary: 'show which requests a changed configuration newly admits or denies, with examples',
  mayTakeLong: true,
  help: `portcullis diff OLD NEW [--format text|json] [--fail-on-newly-admitted] [--fail-on-change]
portcullis diff --cluster NEW
portcullis diff --admin URL [NEW]

Compares what two configurations decide, not how they are written. For every listener,
route and backend, it looks for a request that one configuration admits and the other
denies, and shows an example that was evaluated with both. It reports "proven" only if every
part of the configuration that differs is accounted for and every condition on the way has
a supported form: ==, in, has, startsWith, endsWith, contains, exists(x, x == …),
cidr().containsIP(), numeric comparisons and logical operators. Anything else is reported
as not known, with the part that differs. OLD and NEW can also be files or folders of
Kubernetes manifests. With \`--cluster\`, NEW is compared with the cluster that KUBECONFIG
selects, and must contain all of its objects, not only those that change. With \`--admin\`,
NEW (by default portcullis.yaml in the current folder) is compared with the configuration of
a running gateway, including stored changes. The gateway computes the differences; \`config\`
of NEW is not compared.

  --cluster                  use the objects in the cluster instead of OLD
  --admin URL                use the configuration of a running gateway instead of OLD;
                             sends the token in PORTCULLIS_ADMIN_TOKEN
  --format json              JSON output; short form: --json
  --fail-on-newly-admitted   exit with 1 if a request is newly admitted, or if that is
                             not known
  --fail-on-change           the same for any change

Exit code: 0; 1 if a file has errors or one of the --fail-on options applies; 2 for a usage
error.`,
  run: async (args, terminal) => {
    const { values, positionals } = parse(args)
    const format = formatOf(values, ['text', 'json'])
    const found =
      values.admin === undefined
        ? await compareFiles(values, positionals, terminal)
        : await compareServed(values.admin, positionals, terminal)
    if (found === undefined) return 1
    if (format === 'json') terminal.out(`${exactJson(found, 2)}\n`)
    else terminal.out(render(found))
    const isChanged = ({ kind }: { readonly kind: Difference['kind'] }) =>
      values['fail-on-change'] === true ||
      (values['fail-on-newly-admitted'] === true && kind === 'admitted')
    return [...found.differences, ...found.untold].some(isChanged) ? 1 : 0
  },
})

async function compareFiles(
  { cluster }: { readonly cluster?: boolean },
  positionals: readonly string[],
  terminal: Terminal,
): Promise<SemanticDiff | undefined> {
  const named = cluster === true ? [CLUSTER_PATH, ...positionals] : positionals
  const [before, after] = named
  if (before === undefined || after === undefined || named.length > 2) {
    throw new UsageError('specify the old and the new configuration')
  }
  await prepareFor(before, after)
  const [old, now] = [loadModel(before, terminal), loadModel(after, terminal)]
  return old && now && compare(old, now)
}

/** Process settings may affect decisions too, and cannot be passed to the gateway. */
async function compareServed(
  admin: string,
  positionals: readonly string[],
  terminal: Terminal,
): Promise<SemanticDiff | undefined> {
  const [file = defaultFile()] = positionals
  if (positionals.length > 1) throw new UsageError('specify only the new configuration')
  const { analyseTowards } = await import('./admin-changes.ts')
  const analysed = await analyseTowards<SemanticDiff>(admin, file, 'diff', terminal)
  if (analysed === undefined) return undefined
  const { found, hasOtherSettings } = analysed
  if (!hasOtherSettings) return found
  const why = '`config` in the file is not compared with that of the gateway'
  const untold = (['admitted', 'refused'] as const).map(
    (kind) => ({ kind, listener: '', route: '', why }) as const,
  )
  return { ...found, untold: [...found.untold, ...untold] }
}

/** The complete contents of a file: settings may affect decisions too. */
export interface Configuration extends Model {
  readonly settings: Settings
}

/** Loads a configuration; prints errors and returns undefined if there are any. */
export function loadModel(file: string, terminal: Terminal): Configuration | undefined {
  const judged = loadJudged(file, terminal)
  return judged && { ...judged.model, settings: judged.settings }
}

export function compare(before: SetModel, after: SetModel): SemanticDiff {
  if (isSame(before, after)) return { differences: [], untold: [] }
  const [old, now] = [openVerdicts(before), openVerdicts(after)]
  try {
    const decide = {
      old: (request: ExampleRequest) => decideExample(old, request),
      now: (request: ExampleRequest) => decideExample(now, request),
    }
    const read = { old: old.headersRead, now: now.headersRead }
    const requests = compareModels(before, after, decide, read, true)
    const messages = compareMessages(before, after, decide)
    const calls = compareModelCalls(before, after, decide)
    return {
      differences: [...requests.differences, ...messages.differences, ...calls.differences],
      untold: oncePerCause([...requests.untold, ...messages.untold, ...calls.untold]),
    }
  } finally {
    old.close()
    now.close()
  }
}

/** Undefined if no such token is valid now: an example must be a request that can be sent. */
export function decideExample(verdicts: Verdicts, request: ExampleRequest): Verdict | undefined {
  const hypothetical = hypotheticalOf(request)
  return isGoodNow(hypothetical.identity)
    ? verdicts.decide(hypothetical, request.isConnection)
    : undefined
}

export function hypotheticalOf(request: ExampleRequest): HypotheticalRequest {
  const { method, path, query, host, source, sni, certificate, identity, message } = request
  const body = message && new TextEncoder().encode(message.body)
  const headers =
    body === undefined
      ? request.headers
      : {
          ...request.headers,
          'content-type': 'application/json',
          'content-length': `${body.length}`,
        }
  return {
    ...(body === undefined ? {} : { body: { content: body, rejected: undefined, limits: LIMITS } }),
    isWhole: true,
    method,
    path,
    search: query === '' ? '' : `?${query}`,
    host,
    headers: Object.entries(headers),
    source,
    sourcePort: 40_000,
    sni,
    certificate: certificate && {
      ...NO_NAMES,
      ...(certificate as Partial<ClientCertificate>),
    },
    identity,
    listener: request.listener,
    backend: request.backend,
    provider: request.provider,
  }
}

/** More than the body of any example. */
const LIMITS = { body: 2 ** 20, json: 2 ** 20 }

export const NO_NAMES: ClientCertificate = {
  subject: '',
  subjectCn: undefined,
  subjectAltNames: [],
  identity: undefined,
  issuer: '',
  fingerprint: '',
}

const TITLES = { admitted: 'newly admitted', refused: 'newly denied' } as const

function render({ differences, untold }: SemanticDiff): string {
  const lines: string[] = []
  for (const kind of ['admitted', 'refused'] as const) {
    for (const difference of differences.filter((one) => one.kind === kind)) {
      const { old, now, example } = difference
      const { message } = example
      const what = message === undefined ? '' : `: ${visible(message.about)}`
      lines.push(`${TITLES[kind]} at ${placeOf(difference)}${what}`)
      lines.push(...exampleLines(example).map((line) => `    ${visible(line)}`))
      const { asks } = difference
      const [before, after] = [old, now].map(({ isAdmitted, reason }) =>
        isAdmitted && asks !== '' ? `${reason}, if ${asks} admits it` : reason,
      ) as [string, string]
      lines.push(`  before: ${visible(before)}`, `  after:  ${visible(after)}`, '')
    }
  }
  for (const { kinds, places, why } of grouped(untold)) {
    const at = [...places].filter((place) => place !== '').join('; ')
    const of = [...kinds].join(' or ')
    lines.push(`not known whether any request is ${of}${at && ` at ${at}`}: ${visible(why)}`)
  }
  if (lines.length === 0) return 'nothing changes: proven for every request\n'
  const count = (kind: string) => differences.filter((one) => one.kind === kind).length
  const counts = `${count('admitted')} newly admitted, ${count('refused')} newly denied`
  lines.push(untold.length === 0 ? counts : `${counts}; not complete: ${untold.length} not known`)
  return `${lines.join('\n')}\n`
}

interface Unsaid {
  readonly kinds: Set<string>
  readonly places: Set<string>
  readonly why: string
}

/** Merges entries that differ only in their kind, and entries about one part at several places. */
function grouped(untold: SemanticDiff['untold']): readonly Unsaid[] {
  const found = new Map<string, Unsaid>()
  for (const one of untold) {
    const { part, listener, route, why, kind } = one
    const key = JSON.stringify(part === undefined ? [listener, route, why] : [why])
    const known = found.get(key) ?? { kinds: new Set(), places: new Set(), why }
    known.kinds.add(TITLES[kind])
    known.places.add(placeOf(one))
    found.set(key, known)
  }
  return [...found.values()]
}

export function placeOf({
  listener,
  route,
  backend,
  provider,
}: {
  readonly listener: string
  readonly route: string
  readonly backend?: string | undefined
  readonly provider?: string | undefined
}): string {
  const parts = listener === '' ? [] : [`listener ${listener}`]
  if (route !== '') parts.push(`route ${route}`)
  if (backend !== undefined) parts.push(`backend ${backend}`)
  if (provider !== undefined) parts.push(`provider ${provider}`)
  return parts.map(visible).join(', ')
}

export function exampleLines(example: ExampleRequest): readonly string[] {
  const { method, path, query, host, headers, source, sni, certificate, identity } = example
  const asked = [`${method} ${path}${query === '' ? '' : `?${query}`}`, `host: ${host}`]
  return [
    ...(example.isConnection ? ['a connection'] : asked),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(example.message === undefined ? [] : [`body ${example.message.body}`]),
    ...Object.entries(identity).map(([variable, value]) => `${variable} ${exactJson(value)}`),
    ...(sni === undefined ? [] : [`SNI ${sni}`]),
    ...(certificate === undefined ? [] : [certificateText(certificate)]),
    `from ${source}${OPENINGS[example.proxyHeader ?? 'Any']}`,
  ]
}

const OPENINGS = {
  Any: '',
  None: ', on a connection without a PROXY header',
  V1: ', by a version 1 PROXY header',
  V2: ', by a version 2 PROXY header',
} as const

function certificateText(certificate: NonNullable<ExampleRequest['certificate']>): string {
  if (Object.keys(certificate).length === 0) return 'with any accepted client certificate'
  return `certificate ${exactJson(certificate)}`
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...CLUSTER,
      ...ADMIN,
      ...FORMAT,
      'fail-on-newly-admitted': { type: 'boolean' },
      'fail-on-change': { type: 'boolean' },
    },
  })
}
