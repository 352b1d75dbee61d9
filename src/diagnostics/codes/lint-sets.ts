import type { CodeRecord } from './define.ts'
import { GATEWAY, guarded, TAIL, withToken } from './lint-examples.ts'

const ROUTE = `${GATEWAY}routes:\n- name: api\n${TAIL}\n`
const GET = "request.method == 'GET'"
const BACKEND = 'backends:\n- name: spare\n  host: spare:8080\n'
const GUARD = `  policies:\n    authorization: { rules: [require: "${GET}"] }\n`
const PROVIDER_RULES = `authorization: { rules: [require: "${GET}"] }`

function aiBackend(atBackend: string, atFirst: string): string {
  return (
    `${GATEWAY}routes:\n- name: chat\n  backends: [{ backend: models }]\n` +
    `backends:\n- name: models\n${atBackend}  ai:\n    groups:\n    - providers:\n` +
    `      - name: main\n        provider: { openAI: {} }\n${atFirst}` +
    '    - providers:\n      - name: spare\n        provider: { openAI: {} }'
  )
}

function policyOf(name: string, traffic: string): string {
  return `- name: ${name}\n  target: { route: api }\n  traffic:\n    ${traffic}\n`
}

/** Problems of rules in combination, or of the place where they are set. */
export const LINT_SET_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ007',
    severity: 'warning',
    title: 'a second block of Allow rules widens the first',
    explanation:
      'The Allow rules of all policies that apply to a request are alternatives, at any level: ' +
      'one match is enough. An additional block can therefore only admit more. To narrow what ' +
      'another policy admits, use Require, which Allow rules cannot override.',
    example: {
      language: 'yaml',
      wrong: `${ROUTE}policies:\n${policyOf('one', `authorization: { rules: [allow: "${GET}"] }`)}${policyOf('two', 'authorization: { rules: [allow: "request.path == \'/a\'"] }')}`,
      right: `${ROUTE}policies:\n${policyOf('one', `authorization: { rules: [allow: "${GET}"] }`)}${policyOf('two', 'authorization: { rules: [require: "request.path == \'/a\'"] }')}`,
    },
  },
  {
    code: 'AZ008',
    severity: 'warning',
    title: 'rules on something that no request reaches',
    explanation:
      'No route refers to the backend, or no route is attached to the gateway, so the rules ' +
      'there guard nothing although they appear to. A policy whose target does not exist is ' +
      'also rejected as PC0314 when the configuration is loaded, and a route that no listener ' +
      'serves is reported as PC0313; both are shown under this code.',
    example: {
      language: 'yaml',
      wrong: `${ROUTE}${BACKEND}${GUARD}`,
      right: `${GATEWAY}routes:\n- name: api\n  backends:\n  - backend: spare\n${BACKEND}${GUARD}`,
    },
  },
  {
    code: 'AZ009',
    severity: 'error',
    title: 'two policies set the same field in one place',
    explanation:
      'Policies of this kind are not combined: at each level only one applies, the first one, ' +
      'with inline policies before attached ones. The message names the one that applies and ' +
      'the one without effect. Authentication and authorization are different: those of all ' +
      'policies apply together.',
    example: {
      language: 'yaml',
      wrong: `${ROUTE}policies:\n${policyOf('one', 'timeout: { request: 1s }')}${policyOf('two', 'timeout: { request: 2s }')}`,
      right: `${ROUTE}policies:\n${policyOf('one', 'timeout: { request: 1s }')}`,
    },
  },
  {
    code: 'AZ010',
    severity: 'warning',
    title: 'a rule has a constant result or no effect',
    explanation:
      'It is proven that the rule is true for no request or for every request; or that another ' +
      'rule of the same action covers it, so that it can be removed (`--fix` does it); or that ' +
      'Deny and Require rules deny everything that the Allow rule matches. If the rules of a ' +
      'place together deny every request, this is an error. Only proven findings are reported.',
    example: {
      language: 'yaml',
      wrong: guarded(`allow: ${GET}`, "allow: request.method in ['GET', 'HEAD']"),
      right: guarded("allow: request.method in ['GET', 'HEAD']"),
    },
  },
  {
    code: 'AZ015',
    severity: 'warning',
    title: 'private addresses behind a load balancer',
    explanation:
      'A Service of type LoadBalancer with `externalTrafficPolicy: Cluster` hides the addresses ' +
      'of clients: every connection seems to come from a node, whose address is private, so a ' +
      'rule for a private range admits the whole Internet or denies everyone. Describe Services ' +
      'to the command with `--service GATEWAY=LoadBalancer/Cluster`; a controller knows them.',
    example: {
      language: 'yaml',
      wrong: guarded("allow: cidr('10.0.0.0/8').containsIP(source.address)"),
      right: withToken("allow: jwt.sub == 'alice'"),
      sketch: true,
    },
  },
  {
    code: 'AZ016',
    severity: 'info',
    title: 'only Deny rules: everything else is allowed',
    explanation:
      'Without Allow rules there is no list of permitted requests: every request is allowed ' +
      'that no Deny rule matches and that passes every Require rule. A list of forbidden ' +
      'requests is complete only until something new is built. Allow is the recommended action; ' +
      'Require adds conditions that apply to everyone.',
    example: {
      language: 'yaml',
      wrong: guarded("deny: request.path.startsWith('/admin/')"),
      right: guarded(`allow: ${GET}`, "deny: request.path.startsWith('/admin/')"),
    },
  },
  {
    code: 'AZ017',
    severity: 'info',
    title: 'a provider without audiences, or an unseen claim',
    explanation:
      'Without `audiences`, every token from the issuer is accepted, including tokens issued ' +
      'for other services. With `--decisions`, this also reports rules about a claim that no ' +
      'token in the recorded decisions contained: such a rule has never matched.',
    example: {
      language: 'yaml',
      wrong: withToken("allow: jwt.sub == 'alice'").replace('      audiences: [api]\n', ''),
      right: withToken("allow: jwt.sub == 'alice'"),
    },
  },
  {
    code: 'AZ018',
    severity: 'warning',
    title: 'a provider without the rules of its siblings',
    explanation:
      'Some providers of the backend have authorization rules, but this one does not. When the ' +
      'others are unavailable, it serves requests that they would have denied. Set the rules on ' +
      'the backend, where they apply to all providers, or on each provider. The same applies to ' +
      'the models that a virtual model fails over to: a caller who is denied one of them is ' +
      'served by the next.',
    example: {
      language: 'yaml',
      wrong: aiBackend('', `        policies:\n          ${PROVIDER_RULES}\n`),
      right: aiBackend(`  policies:\n    ${PROVIDER_RULES}\n`, ''),
    },
  },
  {
    code: 'AZ020',
    severity: 'info',
    title: 'a rule decided nothing, or denied everything',
    explanation:
      'With `--decisions`: in all recorded decisions, this Allow or Deny rule decided nothing, ' +
      'or it denied every request. The former may be a rule for a rare case; the latter usually ' +
      'compares an unexpected value, such as the address of a load balancer. Allowed requests ' +
      'are recorded only as far as they are sampled.',
    example: {
      language: 'yaml',
      wrong: guarded("require: cidr('10.0.0.0/8').containsIP(source.address)"),
      right: guarded("require: cidr('192.0.2.0/24').containsIP(source.address)"),
      sketch: true,
    },
  },
  {
    code: 'AZ021',
    severity: 'warning',
    title: 'a suppression without a reason or without a finding',
    explanation:
      'A finding is suppressed by a comment on its line or the line above: `# lint: AZ012 ` ' +
      'followed by the reason. A comment without a reason suppresses nothing, and a comment ' +
      'without a finding is reported, so that it does not hide a future one. Errors can be ' +
      'suppressed as well; this does not affect the validation of the configuration.',
    example: {
      language: 'yaml',
      wrong: guarded(`allow: ${GET} # lint: AZ012`),
      right: guarded("allow: request.path.startsWith('/api') # lint: AZ012 /apix is ours too"),
    },
  },
]
