import { create, toBinary } from '@bufbuild/protobuf'
import type { ServiceRequest, ServiceResponse } from '../../exchange/service-call.ts'
import { decode } from '../../protobuf/decode.ts'
import {
  RateLimitResponse_Code as Code,
  type RateLimitResponse_DescriptorStatus as DescriptorStatus,
  RateLimitRequestSchema,
  RateLimitResponseSchema,
} from '../../protobuf/generated/envoy/service/ratelimit/v3/rls_pb.ts'
import { grpcCall, grpcMessage, headerOf } from '../grpc-call.ts'
import { type Header, unwritable } from '../service-headers.ts'

const METHOD_PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

export interface Counted {
  readonly entries: readonly { readonly key: string; readonly value: string }[]
  readonly cost: number
}

/** The verdict of the service. */
export type Verdict =
  | { readonly kind: 'within' | 'over'; readonly said: Said }
  | { readonly kind: 'failed'; readonly detail: string }

export interface Said {
  readonly requestHeaders: readonly Header[]
  readonly responseHeaders: readonly Header[]
  readonly body: Uint8Array
  /** The limit that takes longest to reset, if the service reports it. */
  readonly limit?: number
  /** In seconds. */
  readonly reset?: number
}

/** envoy.service.ratelimit.v3.RateLimitRequest as a unary gRPC call. */
export function limitCall(
  domain: string,
  counted: readonly Counted[],
  timeout: number,
): ServiceRequest {
  const [first] = counted
  const isSame = first !== undefined && counted.every(({ cost }) => cost === first.cost)
  // All protocol versions have one number for all descriptors; in it, 0 would count as 1.
  const isShared = isSame && first.cost > 0
  const descriptors = counted.map(({ entries, cost }) => ({
    entries: [...entries],
    ...(isShared ? {} : { hitsAddend: BigInt(cost) }),
  }))
  const hitsAddend = isShared ? first.cost : 0
  const message = create(RateLimitRequestSchema, { domain, descriptors, hitsAddend })
  return grpcCall(METHOD_PATH, toBinary(RateLimitRequestSchema, message), timeout)
}

/** envoy.service.ratelimit.v3.RateLimitResponse. */
export function readLimitResponse(sent: ServiceResponse): Verdict {
  const message = grpcMessage(sent)
  if (typeof message === 'string') return { kind: 'failed', detail: message }
  const response = decode(RateLimitResponseSchema, message)
  if (response === undefined) return { kind: 'failed', detail: 'not a RateLimitResponse' }
  const { overallCode, statuses, rawBody } = response
  const requestHeaders = response.requestHeadersToAdd.map(headerOf)
  const responseHeaders = response.responseHeadersToAdd.map(headerOf)
  const bad = unwritable([...requestHeaders, ...responseHeaders])
  // Without this header, the backend would trust the client's own header of the same name.
  if (bad !== undefined) return { kind: 'failed', detail: `${bad} cannot be sent` }
  const said = { requestHeaders, responseHeaders, body: rawBody, ...longest(statuses) }
  if (overallCode === Code.OK) return { kind: 'within', said }
  if (overallCode === Code.OVER_LIMIT) return { kind: 'over', said }
  return { kind: 'failed', detail: `code ${overallCode}` }
}

function longest(statuses: readonly DescriptorStatus[]): Pick<Said, 'limit' | 'reset'> {
  let found: { limit?: number; reset?: number } = {}
  for (const { code, currentLimit, durationUntilReset } of statuses) {
    if (code !== Code.OVER_LIMIT) continue
    const { seconds = 0n, nanos = 0 } = durationUntilReset ?? {}
    const reset = durationUntilReset && Math.max(1, Number(seconds) + (nanos > 0 ? 1 : 0))
    if (found.reset !== undefined && (reset ?? 0) <= found.reset) continue
    found = {
      ...(currentLimit && { limit: currentLimit.requestsPerUnit }),
      ...(reset !== undefined && { reset }),
    }
  }
  return found
}
