import { resolve } from 'node:path'
import { locateAll } from '../diagnostics/places.ts'
import { runToCompletion } from '../model/steps.ts'
import { compileProgram } from '../program/compile.ts'
import { closeKept, retiredKept } from '../program/kept.ts'
import { DEFAULT_ADMIN } from './admin-client.ts'
import { codeJson, codePage, isCode } from './code-page.ts'
import { defineCommand, NOT_KNOWN, type Terminal } from './define.ts'
import {
  type ExplainWith,
  explainWith,
  type RequestToExplain,
  requestIn,
} from './explain-request.ts'
import { explainServed } from './explain-served.ts'
import type { Explained } from './explanation.ts'
import { findDecision } from './find-decision.ts'
import { bodyFrom, hypotheticalFrom } from './hypothetical-request.ts'
import { idleServices } from './idle-deps.ts'
import { prepareFor } from './load-configuration.ts'
import { loadJudged, reportJudged } from './load-judged.ts'
import { painter } from './paint.ts'
import { CLUSTER, configurationOf, FILES, FORMAT, formatOf, readArgs } from './read-args.ts'
import { renderExplained } from './render-explained.ts'

export const explain = defineCommand({
  name: 'explain',
  summary: 'explain how a configuration decides a request, rule by rule',
  mayTakeLong: true,
  help: `portcullis explain [FILE] --request 'GET /path' [options]
portcullis explain [FILE] --decision ID [--admin URL | --decisions FILE...]
portcullis explain --admin URL [--decision ID | --request 'GET /path' [options]]
portcullis explain CODE [--format text|json]

Parses the request as the gateway does and evaluates every rule that it reaches, in order,
with the functions of the gateway; prints the value of each condition.

Tokens are not verified: the claims that you pass count for every policy that verifies
tokens. Without claims, authentication that requires a token rejects the request. Only
\`iss\` and \`aud\` are compared, if you pass them: a token from another issuer or for
another audience is rejected, and Permissive policies do not expose its claims to rules. The name
of a user must be one that basic authentication knows.
Times must be numbers; whether they have passed is not checked. Without a certificate, a
listener that requires one closes the connection. The source address is used as given,
for the connection and for the request: X-Forwarded-For, trustedHops and the PROXY
protocol are not applied. Headers are parsed according to the protocol of the request:
whitespace around a value is removed in HTTP/1.1 and malformed in HTTP/2, which closes
the stream (shown as 400). Rate limits of the gateway are not evaluated.

Credentials in the request are not verified either: if it has any of which you pass nothing,
the result is not known.

The result is not known if it depends on something that is not called here: external
authorization, external processing, a remote rate limit, an endpoint picker, a guard that is
a service, or a guard that can reject the response. The result names that policy.
Without a body, decisions of AI backend rules that depend on the model are not known, and
neither are those of MCP rules. With an MCP message as the body, rules about tools,
prompts and resources are evaluated, and so are pins; for \`tools/list\`, the pinned tools
are listed as this caller sees them.

With the CODE of a message, such as PC0203, it prints what the message means, with an example.

  FILE                   the configuration, or a file or folder of Kubernetes manifests;
                         also -f FILE (default: portcullis.yaml in the current folder)
      --cluster          use the objects in the cluster that KUBECONFIG selects
  -r, --request REQUEST  method and path, or a URL, sent as written: methods are
                         case-sensitive; HTTP/1.0 or HTTP/2 may follow (default 'GET /')
  -H, --header HEADER    'name: value'; can be repeated
      --body TEXT        the body, as rules see it; if Content-Encoding is set, the encoded
                         bytes
      --body-file FILE   the same, read from a file
      --claims JSON      the claims of the token, for example {"sub":"alice"}
      --api-key JSON     the metadata of the API key
      --user NAME        the user that authenticated with basic authentication
      --source IP        the client address, as rules see it (default 127.0.0.1)
      --sni NAME         the server name that the client sends, '' for none (default: one
                         that selects the listener of the host)
      --identity ID      the SPIFFE ID in the client certificate
      --certificate JSON other fields of the certificate, for example
                         {"subjectAltNames":["a.test"]}; {} is a certificate with unknown
                         fields
      --listener NAME    the listener, if several ports serve the host and the request is
                         not a URL with the scheme or port of one: gateway/listener, a
                         gateway, or a listener name that is unique among gateways
      --backend NAME     the backend, if the route has several
      --provider NAME    a provider of an AI backend (default: explain each)
      --decision ID      explain the request of a recorded decision, as far as the record
                         shows its values
      --admin URL        the admin API (default ${DEFAULT_ADMIN}); sends the token in
                         PORTCULLIS_ADMIN_TOKEN. Without FILE, explains the configuration
                         of that gateway
      --decisions FILE   look up the decision in this file instead; can be repeated
      --format json      JSON output; short form: --json

Exit code: 0 if the request is allowed; 1 if it is rejected or denied, no route matches, it is
not served or the gateway itself responds with an error; 2 for a usage error; 3 if the result
is not known.`,
  run: async (args, terminal) => {
    const { values, positionals } = parse(args)
    const [word] = positionals
    if (word !== undefined && isCode(word)) {
      const isJson = formatOf(values, ['text', 'json']) === 'json'
      terminal.out(isJson ? codeJson(word) : codePage(word, terminal))
      return 0
    }
    const format = formatOf(values, ['text', 'json'])
    const isServed =
      values.admin !== undefined && positionals.length === 0 && values.file === undefined
    const report = isServed
      ? await explainServed(values.admin as string, values, terminal.environment)
      : await explainFile(resolve(configurationOf({ values, positionals })), values, terminal)
    if (report === undefined) return 1
    if (typeof report === 'string') {
      terminal.err(`portcullis explain: ${report}\n`)
      return 1
    }
    if (format === 'json') terminal.out(`${JSON.stringify(report, undefined, 2)}\n`)
    else terminal.out(renderExplained(report, painter(terminal.colour)))
    if (report.outcome === 'not-known') return NOT_KNOWN
    return PASSING.has(report.outcome) && (report.status ?? 200) < 400 ? 0 : 1
  },
})

const PASSING: ReadonlySet<Explained['outcome']> = new Set(['forwarded', 'answered'])

type Options = ReturnType<typeof parse>['values']

/** Returns a message if there is nothing to explain, and undefined if errors have been printed. */
async function explainFile(
  file: string,
  options: Options,
  terminal: Terminal,
): Promise<Explained | string | undefined> {
  await prepareFor(file)
  const loaded = loadJudged(file, terminal)
  if (loaded === undefined) return undefined
  const { model, settings, places } = loaded
  const given = await hypotheticalBy(options, terminal)
  if (given === undefined) return undefined
  const dice = { value: 0 }
  const program = compileProgram(model, undefined, idleServices(dice, settings.modelCatalog))
  if (!reportJudged(file, locateAll(places, program.diagnostics), terminal)) return undefined
  try {
    const run: ExplainWith['run'] = async (steps) => runToCompletion(steps)
    return await explainWith(program, given, { dice, run, places })
  } finally {
    closeKept(retiredKept(program, undefined))
  }
}

async function hypotheticalBy(
  options: Options,
  { err, colour, environment }: Terminal,
): Promise<RequestToExplain | undefined> {
  const { decision, decisions } = options
  if (decision === undefined) {
    const body = bodyFrom(options)
    const hypothetical = hypotheticalFrom(options)
    return { hypothetical, body, url: options.request, hasPassed: false, isRecorded: false }
  }
  const found = await findDecision(decision, options.admin, decisions, environment)
  const [record] = typeof found === 'string' ? [] : found
  if (record === undefined) {
    err(`portcullis explain: ${typeof found === 'string' ? found : 'unknown decision'}\n`)
    return undefined
  }
  const read = requestIn(record)
  if (typeof read === 'string') {
    err(`portcullis explain: ${read}\n`)
    return undefined
  }
  const { request, note } = read
  if (note !== undefined) err(`${painter(colour)('warn', note)}\n`)
  return request
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...FILES,
      ...CLUSTER,
      request: { type: 'string', short: 'r' },
      header: { type: 'string', short: 'H', multiple: true },
      body: { type: 'string' },
      'body-file': { type: 'string' },
      claims: { type: 'string' },
      'api-key': { type: 'string' },
      user: { type: 'string' },
      source: { type: 'string' },
      sni: { type: 'string' },
      identity: { type: 'string' },
      certificate: { type: 'string' },
      listener: { type: 'string' },
      backend: { type: 'string' },
      provider: { type: 'string' },
      decision: { type: 'string' },
      admin: { type: 'string' },
      decisions: { type: 'string', multiple: true },
      ...FORMAT,
    },
  })
}
