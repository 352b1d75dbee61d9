import { randomBytes } from 'node:crypto'
import type { Exchange } from '../../../exchange/exchange.ts'
import { CODES } from '../errors.ts'
import type { EventBlock } from '../event-blocks.ts'
import { idKey, isObject, readServerMessage, type ServerMessage } from '../message.ts'
import {
  NOT_SENDING,
  type Received,
  type Sending,
  type ServerEvents,
  type ServerFailure,
} from '../server.ts'
import {
  capabilityFor,
  errorFailure,
  mayRequestInput,
  type StatelessRequest,
  textForServer,
} from './request.ts'
import {
  errorForClient,
  type InputRequest,
  inputForClient,
  progressForClient,
  resultForClient,
  urlsIn,
} from './response.ts'
import {
  nextId,
  type ServerIntroduction,
  type SessionCall,
  type StatelessSession,
} from './session.ts'

/** How long a call waits for the input that it requested, in milliseconds. */
const MAX_INPUT_WAIT = 300_000
/** How long the gateway waits for more requests of the server, to send them all at once. */
const INPUT_PAUSE = 50
const EVENT: EventBlock = { data: '', id: undefined, others: ['event: message'] }
const LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** Calls that wait for input, by the state that the client sends back. */
export type WaitingCalls = Map<string, StatelessCall>

/** A request of the server, and the name by which the client knows it. */
interface PendingInput extends InputRequest {
  /** As the server wrote it. */
  readonly id: string
}

/**
 * One call at a server with sessions. If the server requests input, the client receives that as a
 * result and the call waits; the next request of the client, with the input, continues it.
 */
export class StatelessCall implements SessionCall, ServerEvents {
  readonly id = nextId()
  readonly #session: StatelessSession
  readonly #waiting: WaitingCalls
  /** The newest request of the client. */
  #request: StatelessRequest
  /** Undefined while the call waits for input. */
  #client: ServerEvents | undefined
  #isStream = false
  #sending: Sending = NOT_SENDING
  #isOver = false
  /** The server's response, if it sent one while the call waited for input. */
  #outcome: string | ServerFailure | undefined
  #inputs: PendingInput[] = []
  #inputNames = 0
  #state = ''
  #timer: NodeJS.Timeout | undefined

  constructor(session: StatelessSession, request: StatelessRequest, waiting: WaitingCalls) {
    this.#session = session
    this.#request = request
    this.#waiting = waiting
    session.calls.add(this)
    if (mayRequestInput(request)) session.holder = this
  }

  get exchange(): Exchange {
    return this.#request.exchange
  }

  get method(): string {
    return this.#request.method
  }

  begin(client: ServerEvents): Sending {
    const sending = this.#attach(this.#request, client)
    void this.#session.introduced.then((introduction) => {
      if (this.#isOver) return
      if ('status' in introduction) this.failed(introduction)
      else this.#send(introduction)
    })
    return sending
  }

  /** Continues with the client's responses. */
  resume(request: StatelessRequest, client: ServerEvents): Sending {
    clearTimeout(this.#timer)
    const sending = this.#attach(request, client)
    this.#inputs = this.#inputs.filter(({ id, name }) => {
      const response = request.inputResponses.get(name)
      if (response?.startsWith('{') !== true) return true
      this.#session.respond(id, response, request.exchange)
      return false
    })
    const outcome = this.#outcome
    if (typeof outcome === 'string') this.#finish(outcome)
    else if (outcome !== undefined) this.#fail(outcome)
    else if (this.#inputs.length > 0) this.#requestInput()
    return sending
  }

  #attach(request: StatelessRequest, client: ServerEvents): Sending {
    this.#request = request
    this.#client = client
    this.#isStream = false
    const stop = () => {
      if (this.#client === client) this.#cancel()
    }
    return { stop, resume() {} }
  }

  #send(introduction: ServerIntroduction): void {
    const { method, exchange, logLevel } = this.#request
    if (logLevel !== undefined) this.#session.logFrom(logLevel, introduction, exchange)
    const text = textForServer(this.#request, this.id)
    this.#sending = this.#session.send({ id: this.id, method, text }, exchange, this)
  }

  // Events of the session.

  began(): void {}

  received({ text }: Received): boolean {
    if (this.#isOver || text === undefined) return true
    this.#release()
    if (this.#client === undefined) this.#outcome = text
    else this.#finish(text)
    return true
  }

  ended(): void {}

  failed(failure: ServerFailure): void {
    if (this.#isOver) return
    this.#release()
    if (this.#client === undefined) this.#outcome = failure
    else this.#fail(failure)
  }

  notify(message: ServerMessage): void {
    const client = this.#client
    if (client === undefined) return
    const text = this.#notification(message)
    if (text === undefined) return
    if (!this.#isStream) client.began('stream', undefined)
    this.#isStream = true
    client.received({ text, block: EVENT })
  }

  #notification({ method, text, members }: ServerMessage): string | undefined {
    const { progressToken, logLevel = '' } = this.#request
    if (method === 'notifications/progress') {
      return progressToken === undefined ? undefined : progressForClient(text, progressToken)
    }
    const { level } = JSON.parse(members.get('params') ?? '{}') as { readonly level?: unknown }
    const least = LEVELS.indexOf(logLevel)
    return least >= 0 && LEVELS.indexOf(String(level)) >= least ? text : undefined
  }

  request({ id = 'null', method, members }: ServerMessage): boolean {
    const capability = capabilityFor(this.#request, method)
    if (this.#isOver || capability === undefined) return false
    if (!isObject(this.#request.capabilities[capability])) {
      this.#reject({ [capability]: {} })
      return false
    }
    const name = `input-${++this.#inputNames}`
    this.#inputs.push({ id, name, method, params: members.get('params') })
    if (this.#client !== undefined) {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#requestInput(), INPUT_PAUSE)
    }
    return true
  }

  /** The server requires what the client does not have: the call cannot succeed. */
  #reject(requiredCapabilities: object): void {
    const client = this.#client
    if (client === undefined) return
    this.#cancel()
    const error = { ...MISSING_CAPABILITY, data: { requiredCapabilities } }
    const failure = errorFailure(400, this.#request.id, error)
    if (this.#isStream) this.#deliver(client, failure.body)
    else client.failed(failure)
  }

  withdraw(key: string): void {
    this.#inputs = this.#inputs.filter(({ id }) => idKey(id) !== key)
  }

  #requestInput(): void {
    const client = this.#client
    if (this.#isOver || client === undefined || this.#inputs.length === 0) return
    this.#state = randomBytes(24).toString('base64url')
    this.#waiting.set(this.#state, this)
    this.#timer = setTimeout(() => this.#cancel(), MAX_INPUT_WAIT)
    this.#timer.unref()
    const text = inputForClient(this.#request.id, this.#inputs, this.#state)
    this.#client = undefined
    this.#deliver(client, text)
  }

  #finish(response: string): void {
    const client = this.#client
    const { id, method } = this.#request
    const { members } = readServerMessage(response)
    const result = members.get('result')
    this.#isOver = true
    clearTimeout(this.#timer)
    if (client === undefined) return
    if (result?.startsWith('{')) {
      this.#deliver(client, resultForClient(method, id, result))
      return
    }
    const error = errorForClient(id, members.get('error') ?? NO_RESULT)
    if (error.code === CODES.urlElicitationRequired && mayRequestInput(this.#request)) {
      const urls = urlsIn(error.data)
      this.#deliver(client, urls.length > 0 ? inputForClient(id, urls, undefined) : error.text)
    } else if (error.code === CODES.unknownMethod && !this.#isStream) {
      client.failed({ ...errorFailure(404, id, UNKNOWN_METHOD), body: error.text })
    } else this.#deliver(client, error.text)
  }

  #deliver(client: ServerEvents, text: string): void {
    if (!this.#isStream) client.began('message', undefined)
    client.received({ text, block: this.#isStream ? EVENT : undefined })
    client.ended()
  }

  #fail(failure: ServerFailure): void {
    this.#isOver = true
    this.#client?.failed(failure)
  }

  /** No client waits any longer. */
  #cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#client = undefined
    clearTimeout(this.#timer)
    this.#waiting.delete(this.#state)
    for (const { id } of this.#inputs) {
      this.#session.reject(id, 'The client did not respond.', this.exchange)
    }
    this.#sending.stop()
    this.#release()
  }

  /** The session serves other calls. */
  #release(): void {
    this.#session.calls.delete(this)
    if (this.#session.holder === this) this.#session.holder = undefined
  }
}

const MISSING_CAPABILITY = {
  code: CODES.missingCapability,
  message: 'The server requires a capability that the client did not declare',
}
const UNKNOWN_METHOD = { code: CODES.unknownMethod, message: 'Method not found' }
const NO_RESULT = JSON.stringify({ code: CODES.internal, message: 'The server failed.' })
