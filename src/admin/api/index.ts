import * as z from 'zod'
import type { Authenticate } from '../callers.ts'
import type { Login } from '../login.ts'
import type { RequestHandler } from '../servers.ts'
import { CONFIG_ENDPOINTS } from './config.ts'
import { CHANGE_ENDPOINTS } from './config-changes.ts'
import { FIELD_ENDPOINTS } from './config-fields.ts'
import { DECISION_ENDPOINTS } from './decisions.ts'
import { type Endpoint, ok } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { openApiOf } from './openapi.ts'
import { PLAYGROUND_ENDPOINTS } from './playground.ts'
import { POLICY_ENDPOINTS } from './policies.ts'
import { PROCESS_ENDPOINTS } from './process.ts'
import { routeApi } from './router.ts'

const openApi: Endpoint = {
  method: 'GET',
  path: '/api/openapi.json',
  isEarly: true,
  summary: 'This description.',
  role: 'viewer',
  responses: { 200: { description: 'OpenAPI 3.1.', schema: z.looseObject({}) } },
  run: (_, { version }) => ok(openApiOf(ENDPOINTS, version)),
}

/** All operations of the admin API. */
export const ENDPOINTS: readonly Endpoint[] = [
  openApi,
  ...PROCESS_ENDPOINTS,
  ...CONFIG_ENDPOINTS,
  ...FIELD_ENDPOINTS,
  ...CHANGE_ENDPOINTS,
  ...DECISION_ENDPOINTS,
  ...POLICY_ENDPOINTS,
  ...PLAYGROUND_ENDPOINTS,
]

export function apiHandler(
  deps: ApiDeps,
  authenticate: Authenticate,
  login?: Login,
): RequestHandler {
  return routeApi(ENDPOINTS, deps, authenticate, login)
}
