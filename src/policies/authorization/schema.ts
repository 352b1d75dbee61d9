import { authorizationRules } from '../authorization-rules.ts'

export const authorization = authorizationRules().describe(
  'Controls who can do what. The rules of all policies that apply to a request form one set: Deny rules are evaluated ' +
    'first, then Require, then Allow.',
)
