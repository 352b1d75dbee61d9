import type { TLSSocket } from 'node:tls'
import type { Connection, Source } from '../exchange/connection.ts'
import type { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import { type ClientHello, type HelloOutcome, HelloReader } from '../wire/tls/client-hello.ts'
import type { HandshakeFailure } from '../wire/tls/handshake-failure.ts'
import type { Secured, Terminator } from '../wire/tls/terminate.ts'
import type { DownstreamSocket } from './accept.ts'
import { admit } from './admission.ts'
import { admissionOf, isAlike, type PortPlan } from './port-plan.ts'
import { Prelude, type PreludeEnd } from './prelude.ts'
import { SecuredPort } from './secured-port.ts'
import type { StreamTarget } from './stream-types.ts'
import { serveStream } from './tcp.ts'

/** RFC 6066 §3: a fatal alert, so that an HTTPS client can report the cause. */
const UNRECOGNIZED_NAME = Buffer.from([0x15, 3, 3, 0, 2, 2, 112])

const ADVICE = 'This port requires TLS: use https://\n'
const speaksTls = (id: string) =>
  [
    'HTTP/1.1 400 Bad Request',
    'content-type: text/plain; charset=utf-8',
    `content-length: ${ADVICE.length}`,
    'connection: close',
    `x-request-id: ${id}`,
    '',
    ADVICE,
  ].join('\r\n')

/** Whether an admitted client sent a plaintext request to a port that serves HTTPS. */
function isPlainHttp({ plan, admittedBy }: DownstreamSocket, bytes: Buffer): boolean {
  if (admittedBy !== plan || !/^[A-Z]{3,16} \//.test(bytes.toString('latin1', 0, 18))) return false
  return servesHttps(plan)
}

/** On other ports, TLS is between client and backend: the gateway itself sends nothing in it. */
function servesHttps({ listeners }: PortPlan): boolean {
  return listeners.some(({ listener }) => listener.protocol === 'HTTPS')
}

/** Accepts a socket on which a ClientHello comes first. */
export function acceptTls(accepted: DownstreamSocket, connection: Connection): void {
  const { socket, plan, boundPort } = accepted
  const startedAt = performance.now()
  const failed = (reason: HandshakeFailure, id?: string) => {
    // Before the client has its id.
    boundPort.observer.unsecured(connection, undefined, reason, performance.now() - startedAt, id)
    if (id === undefined) socket.destroy()
    else socket.end(speaksTls(id), () => socket.destroy())
  }
  const reader = new HelloReader()
  const greeted = (outcome: Exclude<HelloOutcome, 'more'>, bytes: Buffer) => {
    if (typeof outcome !== 'string') chooseListener(accepted, outcome)
    else {
      const id = isPlainHttp(accepted, bytes) ? boundPort.acceptDeps.nextId() : undefined
      failed('malformed', id)
    }
  }
  const read = (bytes: Buffer) => {
    const outcome = reader.read(bytes)
    // TLS or the backend reads the bytes again, so none are consumed here.
    return outcome === 'more' ? undefined : { consumed: 0, next: () => greeted(outcome, bytes) }
  }
  const { handshakeTimeout } = plan.tls
  const ended = (end: PreludeEnd) => failed(end === 'timeout' ? 'timeout' : 'reset')
  const broke = (error: unknown) => accepted.broke('client-hello', error)
  new Prelude(socket, handshakeTimeout, boundPort.deadlines, read, ended, broke)
}

function chooseListener(accepted: DownstreamSocket, { serverName }: ClientHello): void {
  const { plan } = accepted
  const found = plan.names.forHost(serverName ?? '')
  const listener = found?.listener.protocol === 'Invalid' ? undefined : found
  accepted.listener = listener
  // `destination.hostname` is only set on TLS listeners, even if the client sent a server name.
  const isStream = listener?.listener.protocol === 'TLS'
  const connection = accepted.connection(true, serverName, isStream ? serverName : undefined)
  if (listener === undefined) {
    // Evaluates the rules first, to distinguish denied clients from unknown server names.
    if (accepted.admittedBy === plan || admit(accepted, connection, plan.listeners)) {
      if (servesHttps(plan)) accepted.socket.write(UNRECOGNIZED_NAME)
      accepted.reject('no-route', 'no-listener', connection)
    }
    return
  }
  if (accepted.admittedBy !== plan && admissionOf(listener) !== 'certificate') {
    accepted.permit = admit(accepted, connection, [listener])
    if (accepted.permit === undefined) return
    accepted.admittedBy = plan
  }
  const permit = accepted.admittedBy === plan ? accepted.permit : undefined
  const target = isStream ? accepted.target(listener, connection) : undefined
  if (isStream && target === undefined) return
  const terminator = plan.terminators.get(listener)
  if (terminator === undefined && target !== undefined && permit !== undefined) {
    accepted.admitted = connection
    serveStream(permit, accepted, listener, accepted.socket, connection, target)
  } else if (terminator === undefined || typeof terminator === 'string') {
    target?.done({ outcome: 'cancelled', status: 0, duration: 0 })
    accepted.reject('no-route', 'bad-certificate', connection)
  } else terminate(accepted, listener, connection, terminator, target)
}

function terminate(
  accepted: DownstreamSocket,
  listener: ListenerProgram,
  connection: Connection,
  terminator: Terminator,
  target: StreamTarget | undefined,
): void {
  const { boundPort, plan, socket } = accepted
  const givenUp = (duration: number) => target?.done({ outcome: 'cancelled', status: 0, duration })
  const { handshakeTimeout } = plan.tls
  const enter = (tls: TLSSocket, secured: Secured) => {
    const source: Source = connection.source
    source.certificate = secured.certificate
    boundPort.observer.secured(connection, listener, secured)
    const now = accepted.plan.listeners.find((own) => isAlike(own, listener))
    // The Program may have changed: the rules of the current one apply.
    if (now !== undefined && accepted.admittedBy !== accepted.plan) {
      accepted.permit = admit(accepted, connection, [now])
    }
    const { permit } = accepted
    if (now !== undefined && permit !== undefined) {
      serve(permit, accepted, now, connection, tls, secured, target)
    } else {
      tls.destroy()
      givenUp(secured.milliseconds)
    }
  }
  terminator.secure(socket, handshakeTimeout, boundPort.deadlines, {
    failed: (reason, milliseconds) =>
      accepted.guard('handshake', () => {
        givenUp(milliseconds)
        boundPort.observer.unsecured(connection, listener, reason, milliseconds)
      }),
    broke: (error) => accepted.broke('handshake', error),
    secured: (tls, secured) => {
      accepted.carrier = tls
      accepted.guard('handshake', () => enter(tls, secured))
    },
  })
}

function serve(
  permit: Permit<'connection'>,
  accepted: DownstreamSocket,
  listener: ListenerProgram,
  connection: Connection,
  tls: TLSSocket,
  { protocol }: Secured,
  target: StreamTarget | undefined,
): void {
  accepted.admitted = connection
  if (target !== undefined) serveStream(permit, accepted, listener, tls, connection, target)
  else {
    const port = new SecuredPort(accepted.boundPort, listener)
    accepted.serveHttp(permit, tls, connection, port, protocol === 'h2')
  }
}
