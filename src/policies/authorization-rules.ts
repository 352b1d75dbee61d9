import * as z from 'zod'
import type { Action } from '../cel/index.ts'
import { choice, expression } from './scalars.ts'
import { issue, oneOfKeys } from './shapes.ts'

/** The common form of both syntaxes: rules in the order in which they are written. */
export interface Authorization {
  readonly rules: readonly AuthorizationRule[]
  /** Audit: evaluated and recorded, never enforced. */
  readonly mode: 'Enforce' | 'Audit'
}

export interface AuthorizationRule {
  readonly action: Action
  readonly expression: string
  /** The path in the policy: `policy.matchExpressions[0]`, `rules[2].deny`. */
  readonly field: string
  /**
   * For a Require rule: the scopes that a failing token lacks. Clients learn that they can request
   * these.
   */
  readonly scopes?: readonly string[]
}

const matchExpressions = () =>
  z
    .array(expression('rule'))
    .min(1)
    .max(256)
    .describe(
      'One or more CEL expressions. Allow and Deny rules match if any of them is true, Require rules if all are.',
    )

/** RFC 6749 §3.3 */
const scopes = () =>
  z
    .array(
      z
        .string()
        .max(256)
        .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/),
    )
    .min(1)
    .max(32)
    .optional()
    .describe(
      'OAuth scopes that a client can request in order to satisfy this Require rule. Denied items ' +
        'stay in lists, and calls get 403 with `insufficient_scope`.',
    )

/** Set only if the schema has it. */
interface Scoped {
  readonly scopes?: unknown
}

const rule = (more: Scopes) =>
  z.union([
    expression('rule').describe('An Allow rule.'),
    oneOfKeys(
      z.strictObject({
        allow: expression('rule')
          .optional()
          .describe('Allows requests for which the expression is true.'),
        require: expression('rule')
          .optional()
          .describe('Denies requests unless the expression is true.'),
        deny: expression('rule')
          .optional()
          .describe('Denies requests for which the expression is true.'),
        ...more,
      }),
      ['allow', 'require', 'deny'],
    ).check(({ value, issues }) => {
      if ((value as Scoped).scopes === undefined || value.require !== undefined) return
      issues.push(issue(value, ...ONLY_REQUIRE, ['scopes']))
    }),
  ])

type Scopes = { readonly scopes?: ReturnType<typeof scopes> }

const ONLY_REQUIRE = [
  '`scopes` can only be set on a Require rule',
  { rule: 'excludes', hint: 'use `require`: requests it denies can succeed with more scopes' },
] as const

const ACTIONS = { allow: 'Allow', require: 'Require', deny: 'Deny' } as const

/** The block form `{action, policy: {matchExpressions}}` or the short form `{rules: […]}`. */
export const authorizationRules = (more: Scopes = {}) =>
  z
    .strictObject({
      action: choice('Allow', 'Require', 'Deny')
        .optional()
        .describe('What to do if the expressions match. Used with `policy`.'),
      policy: z
        .strictObject({ matchExpressions: matchExpressions() })
        .optional()
        .describe('The expressions of the action.'),
      rules: z
        .array(rule(more))
        .min(1)
        .max(10_000)
        .optional()
        .describe('Short form: rules with an action each, instead of `action` and `policy`.'),
      mode: choice('Enforce', 'Audit')
        .prefault('Enforce')
        .describe('Audit evaluates the rules and records the results, but allows all requests.'),
      ...more,
    })
    .check(({ value, issues }) => {
      const { action, policy, rules } = value
      if ((value as Scoped).scopes !== undefined && action !== 'Require') {
        issues.push(issue(value, ...ONLY_REQUIRE, ['scopes']))
      }
      if (rules !== undefined) {
        const other = action !== undefined ? 'action' : policy !== undefined ? 'policy' : undefined
        if (other === undefined) return
        const hint = 'set either `action` and `policy`, or `rules`'
        issues.push(
          issue(
            value,
            `\`rules\` and \`${other}\` are mutually exclusive`,
            { rule: 'excludes', hint },
            [other],
          ),
        )
      } else if (action === undefined || policy === undefined) {
        const missing = action === undefined ? 'action' : 'policy'
        const hint =
          missing === 'action'
            ? 'set `action` to Allow, Require or Deny'
            : 'list the expressions under `policy.matchExpressions`'
        issues.push(issue(value, `\`${missing}\` is missing`, { rule: 'missing', hint }))
      }
    })
    .transform(({ action, policy, rules, mode, ...rest }): Authorization => {
      if (rules !== undefined) return { rules: rules.map(toRule), mode }
      return {
        rules: (policy?.matchExpressions ?? []).map((expression, index) => ({
          action: action as Action,
          expression,
          field: `policy.matchExpressions[${index}]`,
          ...scopesIn(rest),
        })),
        mode,
      }
    })

/** For `mcpAuthorization`: clients can repeat a call with a token that has more scopes. */
export const scopedRules = () => authorizationRules({ scopes: scopes() })

function scopesIn({ scopes: own }: Scoped): Pick<AuthorizationRule, 'scopes'> {
  return own === undefined ? {} : { scopes: own as readonly string[] }
}

function toRule(
  rule: string | (Readonly<Partial<Record<keyof typeof ACTIONS, string | undefined>>> & Scoped),
  index: number,
): AuthorizationRule {
  if (typeof rule === 'string') {
    return { action: 'Allow', expression: rule, field: `rules[${index}]` }
  }
  for (const key of Object.keys(ACTIONS) as (keyof typeof ACTIONS)[]) {
    const expression = rule[key]
    if (expression !== undefined) {
      const field = `rules[${index}].${key}`
      return { action: ACTIONS[key], expression, field, ...scopesIn(rule) }
    }
  }
  throw new Error('a rule without an expression passed its schema')
}
