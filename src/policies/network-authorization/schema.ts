import { authorizationRules } from '../authorization-rules.ts'

export const networkAuthorization = authorizationRules().describe(
  'Controls which connections are accepted, by source address, server name and client certificate, before any data is proxied.',
)
