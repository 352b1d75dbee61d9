import type { ApiDeps } from '../admin/api/deps.ts'
import type { RequestHandler } from '../admin/servers.ts'
import type { AdminAccess } from './admin-token.ts'

export const loadApi = () => import('../admin/api/index.ts')

/** Loaded with the first call: a gateway whose API is never used does not need it. */
export function openApi(
  deps: ApiDeps,
  { authenticate, login }: Pick<AdminAccess, 'authenticate' | 'login'>,
): RequestHandler {
  let api: RequestHandler | undefined
  return async (request, response) => {
    api ??= (await loadApi()).apiHandler(deps, authenticate, login)
    return api(request, response)
  }
}
