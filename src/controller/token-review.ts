import type { Authenticate } from '../xds/ads.ts'
import { TOKEN_AUDIENCE } from './deploy/options.ts'

/** The API server operations that are needed. */
export interface ReviewClient {
  request(
    method: string,
    path: string,
    options?: { readonly body?: unknown },
  ): Promise<{ readonly status: number; readonly body: unknown }>
}

/** The Gateway that a service account was created for; undefined if there is none. */
export type GatewayOf = (namespace: string, serviceAccount: string) => string | undefined

interface Review {
  readonly status?: {
    readonly authenticated?: boolean
    readonly audiences?: readonly string[]
    readonly user?: { readonly username?: string }
  }
}

/**
 * Determines the Gateway of a proxy by a TokenReview: the token must be issued for this audience,
 * and belong to the service account that was deployed for a Gateway.
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
    // A server without audience support returns no audiences.
    if (!audiences.includes(TOKEN_AUDIENCE)) return { rejected: 'wrong-audience' }
    const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user?.username ?? '')
    if (account === null) return { rejected: 'unknown-gateway' }
    const gateway = gatewayOf(account[1] as string, account[2] as string)
    return gateway === undefined ? { rejected: 'unknown-gateway' } : { gateway }
  }
}
