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

/** What is wrong with rules together, or with where they stand. */
export const LINT_SET_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ007',
    severity: 'warning',
    title: 'a second block of Allow rules widens the first',
    explanation:
      'Allow rules of all policies that reach a request are alternatives, at whatever level they are set: one that matches is enough. A further block therefore only ever admits more. ' +
      'To narrow what another policy admits, use Require, which no Allow rule can ' +
      'get around.',
    example: {
      language: 'yaml',
      wrong: `${ROUTE}policies:\n${policyOf('one', `authorization: { rules: [allow: "${GET}"] }`)}${policyOf('two', 'authorization: { rules: [allow: "request.path == \'/a\'"] }')}`,
      right: `${ROUTE}policies:\n${policyOf('one', `authorization: { rules: [allow: "${GET}"] }`)}${policyOf('two', 'authorization: { rules: [require: "request.path == \'/a\'"] }')}`,
    },
  },
  {
    code: 'AZ008',
    severity: 'warning',
    title: 'rules at something that no request reaches',
    explanation:
      'The backend is named by no route, or no route is attached to the gateway, so the rules ' +
      'there guard nothing, and look as if they did. A policy whose target does not exist is rejected by the reader of the configuration as PC0314, and a route that no listener serves is reported as PC0313; both are shown under this code.',
    example: {
      language: 'yaml',
      wrong: `${ROUTE}${BACKEND}${GUARD}`,
      right: `${GATEWAY}routes:\n- name: api\n  backends:\n  - backend: spare\n${BACKEND}${GUARD}`,
    },
  },
  {
    code: 'AZ009',
    severity: 'error',
    title: 'two policies set the same field at one place',
    explanation:
      'Of a kind that does not add up, only one policy can hold at a level: the one that is written first, with what is written at the thing itself before what is attached to it. The message ' +
      'names the winner and the one without effect. Authentication and authorization are not ' +
      'concerned: those of all policies hold together.',
    example: {
      language: 'yaml',
      wrong: `${ROUTE}policies:\n${policyOf('one', 'timeout: { request: 1s }')}${policyOf('two', 'timeout: { request: 2s }')}`,
      right: `${ROUTE}policies:\n${policyOf('one', 'timeout: { request: 1s }')}`,
    },
  },
  {
    code: 'AZ010',
    severity: 'warning',
    title: 'a rule that is always the same, or changes nothing',
    explanation:
      'It is proven that no request, or every request, makes the rule true; or that another rule ' +
      'of the same action covers it, so that it can be removed (`--fix` does); or that Deny and Require rules deny whatever the Allow rule matches. Where the rules of a place together deny every request this is an error. Nothing is reported that was not proven.',
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
      'A Service of type LoadBalancer with `externalTrafficPolicy: Cluster` hides the address of ' +
      'clients: every connection seems to come from a node, whose address is private, so that a ' +
      'rule for a private range admits the whole Internet or denies everyone. Tell the command about Services with `--service GATEWAY=LoadBalancer/Cluster`; a controller knows them.',
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
    title: 'only Deny rules: what they do not name is allowed',
    explanation:
      'Without an Allow rule there is no list of who may pass, so everything passes that no Deny ' +
      'rule names and every Require rule holds for. A list of what is forbidden is complete only ' +
      'until something new is built. Allow is the recommended action; Require adds conditions ' +
      'that hold for everyone.',
    example: {
      language: 'yaml',
      wrong: guarded("deny: request.path.startsWith('/admin/')"),
      right: guarded(`allow: ${GET}`, "deny: request.path.startsWith('/admin/')"),
    },
  },
  {
    code: 'AZ017',
    severity: 'info',
    title: 'a provider without audiences, or a claim that no token had',
    explanation:
      'Without `audiences` every token of the issuer is taken, also one that was made for another ' +
      'service, which can then use it here. With `--decisions` it is also told of rules about a ' +
      'claim that no token in the recorded decisions had: such a rule has never matched.',
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
      'Some providers of the backend have authorization and this one has none. When the others ' +
      'cannot serve, requests go to it, and what they would have denied is then served. Write ' +
      'the rules at the backend, where they hold for all its providers, or at each of them. ' +
      'The same goes for the models that a virtual model fails over to: a caller who is denied ' +
      'one of them is served by the next.',
    example: {
      language: 'yaml',
      wrong: aiBackend('', `        policies:\n          ${PROVIDER_RULES}\n`),
      right: aiBackend(`  policies:\n    ${PROVIDER_RULES}\n`, ''),
    },
  },
  {
    code: 'AZ020',
    severity: 'info',
    title: 'a rule that decided nothing, or denied everything',
    explanation:
      'With `--decisions`: in all that was recorded, this Allow or Deny rule decided nothing, or it denied every single request. The first may be a rule for something rare; the second ' +
      'is usually a comparison with something else than was thought, as with the address of a ' +
      'load balancer. Allowed requests are recorded only as far as they are sampled.',
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
    title: 'a suppression without a reason, or of nothing',
    explanation:
      'A finding is suppressed by a comment at its line or the line above, `# lint: AZ012 ` and ' +
      'then the reason why it is fine. A comment without a reason suppresses nothing, and one whose finding is gone is reported, so that it does not hide the next one. Errors can be ' +
      'suppressed as well; the reader of the configuration is not concerned.',
    example: {
      language: 'yaml',
      wrong: guarded(`allow: ${GET} # lint: AZ012`),
      right: guarded("allow: request.path.startsWith('/api') # lint: AZ012 /apix is ours too"),
    },
  },
]
