import type { Authenticate } from '../xds/ads.ts'
import { TOKEN_AUDIENCE } from './deploy/options.ts'

/** What is needed of the API server. */
export interface ReviewClient {
  request(
    method: string,
    path: string,
    options?: { readonly body?: unknown },
  ): Promise<{ readonly status: number; readonly body: unknown }>
}

/** The Gateway that a service account was made for; undefined: none. */
export type GatewayOf = (namespace: string, serviceAccount: string) => string | undefined

interface Review {
  readonly status?: {
    readonly authenticated?: boolean
    readonly audiences?: readonly string[]
    readonly user?: { readonly username?: string }
  }
}

/**
 * Whose proxy a token belongs to, as the API server says: the token must be made for this audience,
 * and of the service account that was deployed for a Gateway.
 */
export function tokenReviews(client: ReviewClient, gatewayOf: GatewayOf): Authenticate {
  return async (token) => {
    const { status, body } = await client.request(
      'POST',
      '/apis/authentication.k8s.io/v1/tokenreviews',
      {
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token, audiences: [TOKEN_AUDIENCE] },
        },
      },
    )
    if (status < 200 || status > 299) return { rejected: 'review-failed' }
    const { authenticated, audiences = [], user } = (body as Review).status ?? {}
    if (authenticated !== true) return { rejected: 'invalid-token' }
    // A server that does not know audiences says nothing of them.
    if (!audiences.includes(TOKEN_AUDIENCE)) return { rejected: 'wrong-audience' }
    const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user?.username ?? '')
    if (account === null) return { rejected: 'unknown-gateway' }
    const gateway = gatewayOf(account[1] as string, account[2] as string)
    return gateway === undefined ? { rejected: 'unknown-gateway' } : { gateway }
  }
}
