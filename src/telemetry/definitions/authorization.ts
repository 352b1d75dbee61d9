import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { label } from '../label.ts'
import { ACTION, CAUSE, POLICY, RULE } from './labels.ts'

export const authorizationDecisions = defineCounter({
  name: 'portcullis_authorization_decisions_total',
  help: 'Decisions by the rule that decided, or `none` if no rule did.',
  labels: [
    POLICY,
    RULE,
    label('verdict', 'the verdict; `skipped`: another provider was called', [
      'allowed',
      'denied',
      'skipped',
    ]),
    ACTION,
    CAUSE,
  ],
})

export const authorizationRuleErrors = defineCounter({
  name: 'portcullis_authorization_rule_errors_total',
  help: 'Rule evaluations that did not result in a boolean, so the rule did not match.',
  labels: [POLICY, RULE, ACTION, label('cause', 'why', ['error', 'unset', 'not-boolean'])],
})

export const authorizationAuditDenials = defineCounter({
  name: 'portcullis_authorization_audit_denials_total',
  help: 'Decisions that would have been denials if rules in audit mode were enforced.',
  labels: [POLICY, RULE, ACTION, CAUSE],
})

export const authenticationFailures = defineCounter({
  name: 'portcullis_authentication_failures_total',
  help: 'Credentials that were missing or rejected.',
  labels: [
    POLICY,
    label('method', 'kind of credential', ['jwt', 'api-key', 'basic', 'external', 'oidc']),
    // The first ones apply to tokens; src/policies/jwt-authentication/rejection.ts lists them.
    label('reason', 'why it failed', [
      'missing',
      'repeated',
      'malformed',
      'too-large',
      'unsupported-alg',
      'unsupported-critical',
      'unsupported-type',
      'unsupported-header',
      'missing-kid',
      'unknown-kid',
      'alg-mismatch',
      'keys-unavailable',
      'bad-signature',
      'missing-claim',
      'bad-claim',
      'unsupported-cnf',
      'issuer-mismatch',
      'audience-mismatch',
      'expired',
      'not-yet-valid',
      'unknown-credential',
      'wrong-secret',
      'denied',
      'unavailable',
    ]),
  ],
})

export const jwksAge = defineGauge({
  name: 'portcullis_jwks_age_seconds',
  help: 'Time since the key set of an issuer was last fetched.',
  labels: [label('provider', 'the provider of the policy')],
  unit: 'seconds',
  merge: 'max',
})

export const jwksRefreshes = defineCounter({
  name: 'portcullis_jwks_refreshes_total',
  help: 'Fetches of the key set of an issuer.',
  labels: [
    label('provider', 'the provider of the policy'),
    label('outcome', 'the outcome', ['changed', 'unchanged', 'refused', 'failed', 'timeout']),
    label('trigger', 'the reason for the fetch', ['start', 'interval', 'unknown-key']),
  ],
})

export const tokenCacheLookups = defineCounter({
  name: 'portcullis_token_cache_lookups_total',
  help: 'Lookups of tokens in the cache of verified tokens.',
  labels: [label('outcome', 'whether the token was found', ['hit', 'miss'])],
})

export const tokenCacheEntries = defineGauge({
  name: 'portcullis_token_cache_entries',
  help: 'Verified tokens in the cache.',
  labels: [],
})

export const AUTHORIZATION: MetricGroup = {
  title: 'Authentication and authorization',
  metrics: [
    authorizationDecisions,
    authorizationRuleErrors,
    authorizationAuditDenials,
    authenticationFailures,
    jwksAge,
    jwksRefreshes,
    tokenCacheLookups,
    tokenCacheEntries,
  ],
}
