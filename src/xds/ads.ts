import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { AggregatedDiscoveryService } from '../protobuf/generated/envoy/service/discovery/v3/ads_pb.ts'
import { DeltaStream, type Outcome, ProtocolError } from './delta-stream.ts'
import type { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from './protocol.ts'
import type { Publications } from './publications.ts'

/** Why a proxy receives no configuration. */
export type Rejection =
  | 'missing-token'
  | 'invalid-token'
  | 'wrong-audience'
  | 'unknown-gateway'
  | 'review-failed'

/** The Gateway of a token's proxy: the only one whose configuration it may receive. */
export type Identity = { readonly gateway: string } | { readonly rejected: Rejection }

export type Authenticate = (token: string) => Promise<Identity>

/** For logs and metrics. */
export interface DeliveryEvents {
  readonly connected?: (gateway: string, node: string) => void
  readonly disconnected?: (gateway: string, node: string) => void
  readonly rejected?: (reason: Rejection) => void
  readonly settled?: (gateway: string, node: string, outcome: Outcome) => void
  readonly sent?: (gateway: string, bytes: number) => void
}

export interface AdsOptions {
  readonly publications: Publications
  readonly authenticate: Authenticate
  readonly events?: DeliveryEvents
  /**
   * Milliseconds after which a stream ends and the proxy reconnects. This costs nothing, but proves
   * the proxy's identity again, and spreads proxies over added replicas.
   */
  readonly maxStreamAge?: number
  readonly random?: () => number
}

const HALF_AN_HOUR = 30 * 60 * 1000

/** Delta ADS: the token decides which Gateway is served, never what the proxy claims. */
export function adsService(options: AdsOptions): ServiceImpl<typeof AggregatedDiscoveryService> {
  return {
    deltaAggregatedResources: (requests, context) => deliver(requests, context, options),
  }
}

async function* deliver(
  requests: AsyncIterable<DeltaDiscoveryRequest>,
  context: HandlerContext,
  options: AdsOptions,
): AsyncGenerator<DeltaDiscoveryResponse> {
  const { publications, events = {} } = options
  const gateway = await identify(context, options)
  const stream = new DeltaStream()
  const bell = new Bell()
  let failure: unknown
  let isOver = false
  const subscriber = {
    node: '',
    outcome: undefined as Outcome | undefined,
    wake: () => bell.ring(),
  }
  const subscription = publications.subscribe(gateway, subscriber)
  if (subscription === undefined) throw reject('unknown-gateway', events)
  const read = async () => {
    for await (const request of requests) {
      const outcome = stream.receive(request)
      if (subscriber.node === '' && stream.node !== '') {
        subscriber.node = stream.node
        events.connected?.(gateway, stream.node)
      }
      if (outcome !== undefined) {
        subscriber.outcome = outcome
        events.settled?.(gateway, stream.node, outcome)
        subscription.report()
      }
      bell.ring()
    }
  }
  const end = () => {
    isOver = true
    bell.ring()
  }
  void read()
    .catch((error: unknown) => {
      failure = error
    })
    .finally(end)
  context.signal.addEventListener('abort', end)
  const { maxStreamAge = HALF_AN_HOUR, random = Math.random } = options
  const timer = setTimeout(end, maxStreamAge * (0.75 + random() / 2))
  timer.unref()
  try {
    while (!isOver) {
      const snapshot = subscription.snapshot()
      if (snapshot === undefined) throw new ConnectError('the Gateway was deleted', Code.NotFound)
      const response = stream.next(snapshot)
      if (response === undefined) await bell.rung()
      else {
        events.sent?.(gateway, sizeOf(response))
        yield response
      }
    }
    if (failure instanceof ProtocolError) {
      throw new ConnectError(failure.message, Code.InvalidArgument)
    }
  } finally {
    clearTimeout(timer)
    context.signal.removeEventListener('abort', end)
    subscription.close()
    events.disconnected?.(gateway, stream.node)
  }
}

async function identify(
  context: HandlerContext,
  { authenticate, events = {} }: AdsOptions,
): Promise<string> {
  const [, token] =
    /^Bearer +([^ ]+) *$/i.exec(context.requestHeader.get('authorization') ?? '') ?? []
  if (token === undefined) throw reject('missing-token', events)
  const identity = await authenticate(token).catch(() => ({ rejected: 'review-failed' }) as const)
  if ('rejected' in identity) throw reject(identity.rejected, events)
  return identity.gateway
}

const REJECTIONS: Readonly<Record<Rejection, readonly [Code, string]>> = {
  'missing-token': [Code.Unauthenticated, 'a bearer token is required'],
  'invalid-token': [Code.Unauthenticated, 'the token is not valid'],
  'wrong-audience': [Code.Unauthenticated, 'the token is for another audience'],
  'unknown-gateway': [
    Code.PermissionDenied,
    'the token does not belong to a Gateway of this controller',
  ],
  'review-failed': [Code.Unavailable, 'the token could not be reviewed'],
}

function reject(reason: Rejection, { rejected }: DeliveryEvents): Error {
  rejected?.(reason)
  const [code, message] = REJECTIONS[reason]
  return new ConnectError(message, code)
}

function sizeOf({ resources }: DeltaDiscoveryResponse): number {
  return resources.reduce((sum, { resource }) => sum + (resource?.value.length ?? 0), 0)
}

/** A ring is remembered until the next wait. */
class Bell {
  #isRung = false
  #waiting: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#waiting?.()
  }

  async rung(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    }
    this.#isRung = false
    this.#waiting = undefined
  }
}
