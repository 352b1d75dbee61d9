import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { anyPack, anyUnpack } from '@bufbuild/protobuf/wkt'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { isDiagnostic } from '../model/places.ts'
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
} from '../protobuf/generated/envoy/service/discovery/v3/discovery_pb.ts'
import { RejectionsSchema } from '../protobuf/generated/portcullis/xds/v1/part_pb.ts'

/** The only resource type: resources that refer to each other arrive in one stream of responses. */
export const TYPE_URL = 'type.googleapis.com/portcullis.xds.v1.Part'

/** All resources of a Gateway. */
export const WILDCARD = '*'

/** The max size of a message; the largest thing of a Model is far smaller. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** google.rpc.Code */
const INVALID_ARGUMENT = 3

/** A resource that a proxy has and cannot serve: it denies what the resource guards. */
export interface Rejection {
  /** The name of the resource; empty if the diagnostics concern no resource in particular. */
  readonly resource: string
  readonly version: string
  readonly diagnostics: readonly Diagnostic[]
}

/** Only the first rejections are sent; the rest would add no information. */
const MAX_REJECTIONS = 100

/** The proxy's response to a response: it has the resources, except for those that it rejects. */
export function acknowledgement(
  nonce: string,
  rejections: readonly Rejection[],
): DeltaDiscoveryRequest {
  const base = { typeUrl: TYPE_URL, responseNonce: nonce }
  if (rejections.length === 0) return create(DeltaDiscoveryRequestSchema, base)
  const named = rejections.slice(0, MAX_REJECTIONS)
  const details = create(RejectionsSchema, {
    rejections: named.map(({ resource, version, diagnostics }) => ({
      resource,
      version,
      diagnostics: Buffer.from(JSON.stringify(diagnostics)),
    })),
  })
  const first = named.flatMap(({ resource, diagnostics }) =>
    diagnostics.map(({ code, message }) =>
      resource === '' ? `${code}: ${message}` : `${resource}: ${code}: ${message}`,
    ),
  )[0]
  const rest = rejections.length === 1 ? '' : ` (and ${rejections.length - 1} more)`
  return create(DeltaDiscoveryRequestSchema, {
    ...base,
    errorDetail: {
      code: INVALID_ARGUMENT,
      message: `${first ?? 'the configuration was rejected'}${rest}`,
      details: [anyPack(RejectionsSchema, details)],
    },
  })
}

/** What a proxy rejects; undefined: nothing. Other implementations send a single string. */
export function rejectionsOf({
  errorDetail,
}: DeltaDiscoveryRequest): readonly Rejection[] | undefined {
  if (errorDetail === undefined) return undefined
  for (const detail of errorDetail.details) {
    const message = unpack(detail)
    if (message === undefined) continue
    return message.rejections
      .slice(0, MAX_REJECTIONS)
      .map(({ resource, version, diagnostics }) => ({
        resource,
        version,
        diagnostics: readDiagnostics(diagnostics),
      }))
  }
  return [{ resource: '', version: '', diagnostics: [unnamed(errorDetail.message)] }]
}

function unpack(detail: Parameters<typeof anyUnpack>[0]) {
  try {
    return anyUnpack(detail, RejectionsSchema)
  } catch {
    return undefined
  }
}

function unnamed(message: string): Diagnostic {
  const origin = { kind: 'object', object: 'proxy', field: '' } as const
  return { code: 'PC0801', severity: 'error', message, origin }
}

/** The sender has only proved whose proxy it is: values that are not diagnostics are dropped. */
function readDiagnostics(bytes: Uint8Array): readonly Diagnostic[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString())
    return Array.isArray(value) ? value.filter(isDiagnostic) : []
  } catch {
    return []
  }
}

export type { DeltaDiscoveryRequest, DeltaDiscoveryResponse }

export function requestOf(
  fields: MessageInitShape<typeof DeltaDiscoveryRequestSchema>,
): DeltaDiscoveryRequest {
  return create(DeltaDiscoveryRequestSchema, fields)
}

export function responseOf(
  fields: MessageInitShape<typeof DeltaDiscoveryResponseSchema>,
): DeltaDiscoveryResponse {
  return create(DeltaDiscoveryResponseSchema, fields)
}
