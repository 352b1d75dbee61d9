import * as z from 'zod'

/**
 * The `--json` output of commands, which the API also returns. Later versions may add fields, so
 * all schemas are open; `test/cli/api-shapes.test.ts` compares them with the types of the commands.
 */
const action = z.enum(['Allow', 'Require', 'Deny'])
const mode = z.enum(['Enforce', 'Audit'])

export const diagnosticSchema = z
  .looseObject({
    code: z.string(),
    severity: z.enum(['error', 'warning', 'info']),
    message: z.string(),
    hint: z.string().optional(),
    origin: z
      .union([
        z.looseObject({
          kind: z.literal('file'),
          file: z.string(),
          line: z.int().describe('From 1.'),
          column: z.int().describe('From 1.'),
        }),
        z.looseObject({ kind: z.literal('object'), object: z.string(), field: z.string() }),
      ])
      .meta({ id: 'Origin' }),
  })
  .meta({ id: 'Diagnostic' })

export const lintReport = z
  .looseObject({
    errors: z.int(),
    warnings: z.int(),
    infos: z.int(),
    diagnostics: z.array(diagnosticSchema),
  })
  .meta({ id: 'LintReport', description: 'The output of `portcullis lint --json`.' })

const guard = z
  .looseObject({
    kind: z.string(),
    policy: z.string(),
    level: z.string(),
    origin: z.string(),
    isEnforced: z.boolean().describe('False: it denies nothing, for example in audit mode.'),
    isConditional: z.boolean().optional().describe('It applies only if a condition is true.'),
    failsOpen: z
      .boolean()
      .optional()
      .describe('It denies nothing while its service cannot be reached.'),
    isInvalid: z.boolean().describe('It denies everything.'),
    rules: z.array(z.looseObject({ action, expression: z.string() })),
  })
  .meta({ id: 'Guard' })

const protection = z
  .enum(['guarded', 'partly-guarded', 'open-by-default', 'unknown', 'unprotected', 'no-backend'])
  .meta({ id: 'Protection' })

const part = z
  .looseObject({
    name: z.string(),
    guards: z.array(guard),
    protection,
    pins: z.looseObject({ mode, tools: z.array(z.string()) }).optional(),
  })
  .meta({ id: 'EffectivePart' })

const backend = z
  .looseObject({
    backend: z.string(),
    guards: z.array(guard),
    providers: z.array(part).optional().describe('The providers of an AI backend.'),
    models: z
      .array(
        z.looseObject({
          name: z.string(),
          routing: z.string().optional(),
          providers: z.array(z.string()),
          protection,
        }),
      )
      .optional(),
    targets: z
      .array(part)
      .optional()
      .describe('The servers of an MCP backend that have rules or pins.'),
  })
  .meta({ id: 'EffectiveBackend' })

const route = z
  .looseObject({
    route: z.string(),
    rule: z.string(),
    hostnames: z.array(z.string()),
    matches: z.array(z.string()),
    guards: z.array(guard),
    backends: z.array(backend),
    protection,
  })
  .meta({ id: 'EffectiveRoute' })

export const effectiveReport = z
  .looseObject({
    listeners: z.array(
      z
        .looseObject({
          gateway: z.string(),
          listener: z.string(),
          protocol: z.string(),
          port: z.int().optional(),
          hostname: z.string().optional(),
          guards: z.array(guard).describe('The guards of connections.'),
          routes: z.array(route),
        })
        .meta({ id: 'EffectiveListener' }),
    ),
  })
  .meta({ id: 'Effective', description: 'The output of `portcullis effective --json`.' })

const ruleRecord = {
  policy: z.string(),
  section: z.string(),
  level: z.string(),
  kind: z.string(),
  action,
  index: z.int(),
  field: z.string(),
  expression: z.string(),
  mode,
  origin: z.string(),
  scopes: z.array(z.string()).optional(),
}

const rule = z.looseObject(ruleRecord).meta({ id: 'RuleRecord' })

const miss = z
  .looseObject({
    condition: z.string(),
    wanted: z.boolean(),
    cause: z.enum(['false', 'true', 'error', 'unset']),
    reason: z.string().optional(),
    variable: z.string().optional(),
    present: z.array(z.string()).optional(),
  })
  .meta({ id: 'Miss' })

const policyOf = { policy: z.string(), section: z.string(), level: z.string(), kind: z.string() }

export const decisionRecord = z
  .looseObject({
    id: z.string(),
    time: z.string(),
    kind: z.enum(['authorization', 'authentication', 'csrf', 'rejection']),
    stage: z.enum(['connection', 'traffic', 'backend', 'mcp', 'llm']),
    verdict: z.enum(['allowed', 'denied', 'rejected']),
    enforced: z.boolean(),
    skipped: z.boolean().optional(),
    cause: z.string(),
    reason: z.string().optional(),
    detail: z.string().optional(),
    variable: z.string().optional(),
    present: z.array(z.string()).optional(),
    credentials: z.looseObject({ method: z.string(), ...policyOf }).optional(),
    by: z.looseObject({ ...policyOf, origin: z.string() }).optional(),
    rule: rule.optional(),
    invalid: z.looseObject({ ...policyOf, origin: z.string() }).optional(),
    nearest: z.looseObject({ ...ruleRecord, misses: z.array(miss) }).optional(),
    gateway: z.string(),
    listener: z.string().optional(),
    route: z.string().optional(),
    backend: z.string().optional(),
    provider: z.string().optional(),
    method: z.string().optional(),
    host: z.string().optional(),
    path: z.string().optional(),
    call: z
      .looseObject({
        protocol: z.enum(['grpc', 'llm', 'mcp', 'a2a']),
        method: z.string().optional(),
        name: z.string().optional(),
      })
      .optional(),
    status: z.int().optional(),
    port: z.int().optional(),
    source: z.string(),
    peer: z.string().optional(),
    sni: z.string().optional(),
    identified: z.array(z.looseObject({ variable: z.string() })).optional(),
    attributes: z.array(
      z
        .looseObject({
          name: z.string(),
          state: z.enum(['shown', 'cut', 'redacted', 'unset']),
          value: z.unknown().optional(),
        })
        .meta({ id: 'Attribute' }),
    ),
  })
  .meta({ id: 'Decision', description: 'A record of a decision: see docs/reference/decisions.md.' })

const condition = z
  .looseObject({
    text: z.string(),
    value: z.boolean().nullable().describe('Null: an error, described in `why`.'),
    why: z.string().optional(),
    operands: z.array(
      z.looseObject({
        text: z.string(),
        value: z.string().nullable().describe('The value as an expression; null: not set.'),
      }),
    ),
  })
  .meta({ id: 'Condition' })

const explainedRule = z
  .looseObject({
    ...ruleRecord,
    value: z.boolean().nullable().describe('Null: an error, or an attribute is not set.'),
    why: z.string().optional(),
    conditions: z.array(condition),
  })
  .meta({ id: 'ExplainedRule' })

export const explainReport = z
  .looseObject({
    outcome: z.enum([
      ...(['rejected', 'closed', 'denied', 'no-route', 'answered', 'forwarded'] as const),
      ...(['not-served', 'not-known'] as const),
    ]),
    status: z.int().optional(),
    reason: z.string().optional(),
    message: z.string().optional(),
    gateway: z.string(),
    listener: z.string(),
    route: z.string(),
    rejected: z.string().optional().describe('Why authentication rejects the request.'),
    notes: z.array(z.string()),
    stages: z.array(
      z.looseObject({
        stage: z.string(),
        backend: z.string().optional(),
        provider: z.string().optional(),
        verdict: z.enum(['allowed', 'denied', 'skipped', 'would-deny']),
        cause: z.string(),
        deciding: z.int().describe('The index in `rules`; -1: no rule decided.'),
        rules: z.array(explainedRule),
      }),
    ),
  })
  .meta({ id: 'Explained', description: 'The output of `portcullis explain --json`.' })

const example = z
  .looseObject({
    listener: z.string(),
    backend: z.string().optional(),
    provider: z.string().optional(),
    isConnection: z.boolean(),
    method: z.string(),
    path: z.string(),
    query: z.string(),
    host: z.string(),
    headers: z.record(z.string(), z.string()),
    source: z.string(),
    sni: z.string().optional(),
    identity: z
      .record(z.string(), z.unknown())
      .describe('The claims of a token or the metadata of a key.'),
    proxyHeader: z
      .enum(['None', 'V1', 'V2'])
      .optional()
      .describe('The PROXY header of the connection, if either side reads PROXY headers.'),
  })
  .meta({ id: 'ExampleRequest' })

const kind = z.enum(['admitted', 'refused'])
const verdict = z.looseObject({ isAdmitted: z.boolean(), route: z.string(), reason: z.string() })

export const diffReport = z
  .looseObject({
    differences: z.array(
      z
        .looseObject({
          kind,
          listener: z.string(),
          route: z.string(),
          backend: z.string().optional(),
          provider: z.string().optional(),
          example,
          old: verdict,
          now: verdict,
          asks: z.string().describe('External services that must also admit it.'),
        })
        .meta({ id: 'Difference' }),
    ),
    untold: z
      .array(z.looseObject({ kind, listener: z.string(), route: z.string(), why: z.string() }))
      .describe('Places for which it is not known whether a decision changes.'),
  })
  .meta({ id: 'DiffReport', description: 'The output of `portcullis diff --json`.' })

export const replayReport = z
  .looseObject({
    requests: z.int(),
    unchanged: z.int(),
    changed: z.array(
      z.looseObject({
        kind,
        route: z.string(),
        reason: z.string(),
        id: z.string(),
        time: z.string(),
        request: example,
      }),
    ),
    unknown: z.array(z.looseObject({ why: z.string(), requests: z.int() })),
    disagreeing: z
      .int()
      .describe('Requests that the running configuration decides differently than recorded.'),
    notRead: z.int(),
  })
  .meta({ id: 'ReplayReport', description: 'The output of `portcullis replay --json`.' })

export const suggestReport = z
  .looseObject({
    suggestions: z.array(
      z
        .looseObject({
          route: z.string(),
          admitted: z.int(),
          denied: z.int(),
          replaces: z.array(z.string()),
          tightens: z.enum(['yes', 'no', 'unknown']),
          rules: z.array(
            z.looseObject({
              expression: z.string(),
              admits: z.int(),
              denies: z.int(),
              example,
              wouldDeny: z.array(example),
            }),
          ),
        })
        .meta({ id: 'Suggestion' }),
    ),
    without: z.array(z.looseObject({ route: z.string(), why: z.string() })),
  })
  .meta({ id: 'Suggestions', description: 'The output of `portcullis suggest --json`.' })

export const testReport = z
  .looseObject({
    passed: z.int(),
    failed: z.int(),
    notRun: z.int(),
    uncovered: z.int().describe('Rules that decided no request.'),
    suites: z.array(
      z.looseObject({
        file: z.string(),
        name: z.string(),
        cases: z.array(
          z.looseObject({
            name: z.string(),
            failures: z.array(z.string()),
            milliseconds: z.number(),
          }),
        ),
        diagnostics: z.array(diagnosticSchema),
      }),
    ),
  })
  .meta({ id: 'TestReport', description: 'The output of `portcullis test --json`.' })
