import { parse } from 'yaml'
import { lint } from '../../src/analysis/lint/lint.ts'
import { BOOL } from '../../src/cel/check/types.ts'
import { compile, explainRules, type Rule, STAGES } from '../../src/cel/index.ts'
import type { Model } from '../../src/model/model.ts'
import type { Attached } from '../../src/model/policy.ts'
import { type Authorization, policySchema } from '../../src/policies/schema.ts'
import { type Evaluated, partsOf, renderDiagnostic } from './evaluate.ts'
import { readRequest } from './request.ts'

export const SAMPLE_RULES = `rules:
  - deny: request.path.startsWith('/admin/')
  - require: jwt.team == 'orders'
  - allow: request.method == 'GET'
  - allow: "'orders:write' in jwt.scopes"
`

export interface Decided extends Evaluated {
  /** Lint findings, which do not depend on the request. */
  readonly findings: readonly string[]
}

/** Evaluates the rules of an `authorization` policy for a request, and lints them. */
export function decide(rulesText: string, requestText: string): Decided {
  const policy = readPolicy(rulesText)
  if (typeof policy === 'string') return rejected(policy)
  const variables = readRequest(requestText)
  if (typeof variables === 'string') return rejected(variables)
  const rules: Rule[] = []
  for (const { action, expression: text } of policy.rules) {
    const options = { backend: 'closures', expect: BOOL, pure: true } as const
    const { expression, diagnostics } = compile(text, STAGES.traffic, options)
    if (expression === undefined) return rejected('Rejected', diagnostics.map(renderDiagnostic))
    rules.push({ action, expression })
  }
  const { allowed, deciding, cause, rules: explained } = explainRules(rules, variables)
  const by = deciding === undefined ? CAUSES[cause] : describe(policy, deciding.rule)
  return {
    isGood: allowed,
    result: `${allowed ? 'Allowed' : 'Denied'}${by === undefined ? '' : `: ${by}`}`,
    details: explained.map(({ rule, explanation }) => {
      const parts = partsOf(explanation, policy.rules[rule]?.expression ?? '')
      return `${describe(policy, rule)}\n    ${parts.join('\n    ')}`
    }),
    findings: lint(modelWith(policy)).map(({ diagnostic }) => renderDiagnostic(diagnostic)),
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  'no-allow-match': 'no Allow rule matched',
  'no-rules': 'there are no Allow rules, and nothing denies',
}

function rejected(result: string, details: readonly string[] = []): Decided {
  return { isGood: false, result, details, findings: [] }
}

function describe({ rules }: Authorization, index: number): string {
  const rule = rules[index]
  return rule === undefined ? '' : `${rule.action} ${rule.expression}`
}

function readPolicy(text: string): Authorization | string {
  let value: unknown
  try {
    value = parse(text)
  } catch (error) {
    return `The rules are not valid YAML: ${(error as Error).message.split('\n', 1)[0]}`
  }
  const read = policySchema('authorization').safeParse(value)
  if (read.success) return read.data as Authorization
  const [issue] = read.error.issues
  return `${issue?.path.join('.') || 'The policy'}: ${issue?.message ?? 'not understood'}`
}

/** A gateway with optional JWT and API key authentication and one route with the rules. */
function modelWith(authorization: Authorization): Model {
  const origin = { kind: 'object', object: 'policy', field: '' } as const
  const route = { name: 'sandbox', origin }
  const at = { section: 'traffic', level: 'route', policy: 'route:sandbox', origin } as const
  const attached = (kind: string, value: unknown): Attached => {
    return { state: 'valid', kind, value, ...at }
  }
  const identities = Object.entries(IDENTITIES).map(([kind, value]) =>
    attached(kind, policySchema(kind).parse(value)),
  )
  const policies = [...identities, attached('authorization', authorization)]
  const forward = { backend: 'backend', weight: 1, policies: [] }
  const match = { path: { kind: 'prefix', value: '/' }, headers: [], query: [] } as const
  return {
    frontend: [],
    gateways: [
      {
        name: 'default',
        origin,
        policies: [],
        listeners: [{ name: 'default', policies: [], origin, protocol: 'HTTP', port: 8080 }],
      },
    ],
    routes: [
      {
        ...route,
        parents: [{ gateway: 'default' }],
        hostnames: [],
        rules: [
          {
            ...route,
            matches: [match],
            policies: [],
            action: { kind: 'forward', backends: [forward] },
          },
        ],
        policies,
      },
    ],
    tcpRoutes: [],
    backends: [
      { name: 'backend', policies: [], origin, kind: 'host', endpoints: [{ host: 'a', port: 80 }] },
    ],
  }
}

const ISSUER = 'https://issuer.example.com'
const IDENTITIES = {
  jwtAuthentication: {
    mode: 'Optional',
    issuer: ISSUER,
    audiences: ['sandbox'],
    jwks: { url: `${ISSUER}/keys` },
  },
  apiKey: {
    mode: 'Optional',
    keys: [{ keyHash: `sha256:${'0'.repeat(64)}`, metadata: { name: 'any' } }],
  },
}
