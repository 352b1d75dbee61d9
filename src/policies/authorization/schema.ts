import { authorizationRules } from '../authorization-rules.ts'

export const authorization = authorizationRules().describe(
  'Who may do what: rules of all policies that reach a request are one set; Deny is decided ' +
    'first, then Require, then Allow.',
)
