// HOT PATH: what a client's connection is doing, looked at for each piece of bytes. Guarded by
// bench/proxy.ts. Liberties: states are objects of one shape, so that a step is one load.

/*
 * The states of a client's connection, and the steps between them. A step that a state does not name
 * is ignored there: whoever comes late, as a backend that responds when its client is gone, changes
 * nothing. server-states.test.ts walks this table, alone and on real connections.
 */

export type StateName =
  /** Between two requests. */
  | 'idle'
  /** Some bytes of a head have come. */
  | 'head'
  /** A request has come; nobody reads its body yet. */
  | 'unread'
  | 'flowing'
  /** Whoever takes the body wants no more for now. */
  | 'paused'
  /** The request is whole, the response is not. */
  | 'whole'
  /** The rest of the body cannot be read; there is no response yet. */
  | 'lost'
  /** The response is whole, and the rest of the request is on its way to whoever takes it. */
  | 'late'
  /** The same, and nobody takes it: it is read past, since the next request comes behind it. */
  | 'discarded'
  /** The response is whole, and so is the request that came after it. */
  | 'done'
  /** The response is whole, and the rest of the request cannot be read. */
  | 'ruined'
  /** After 101: bytes both ways. */
  | 'tunnel'
  /** The backend has ended its tunnel. */
  | 'leaving'
  /** Nothing more is read or written; the client has a moment to take what was. */
  | 'closing'
  | 'closed'

export type StepName =
  /** Part of a head came. */
  | 'begin'
  /** A whole head came, of a request with a body, or without. */
  | 'request'
  | 'requestWhole'
  /** Bytes came that are no request. */
  | 'reject'
  /** Somebody reads the body; wants no more for now; wants more again. */
  | 'read'
  | 'pause'
  | 'resume'
  /** The body is whole; it can not be read any further. */
  | 'end'
  | 'spoil'
  /** The response is whole, before the request is. */
  | 'respond'
  /** The exchange is over. */
  | 'finish'
  | 'upgrade'
  /** This side has said all that it has to say. */
  | 'leave'
  | 'close'

interface Row {
  /** What bytes of the client are now. */
  readonly reads: 'head' | 'body' | 'tunnel' | 'nothing'
  /** A request is under way. */
  readonly isExchange?: true
  /** All of it has come. */
  readonly isWhole?: true
  /** Its response is whole: there must not be another one. */
  readonly hasResponded?: true
  readonly on: Readonly<Partial<Record<StepName, StateName>>>
}

const CLOSE = { close: 'closed' } as const
const OVER = { finish: 'idle', ...CLOSE } as const
const OPEN = { upgrade: 'tunnel', ...OVER } as const
const HEAD = { request: 'unread', requestWhole: 'whole', reject: 'whole', ...CLOSE } as const

const ROWS: Readonly<Record<StateName, Row>> = {
  idle: { reads: 'head', on: { begin: 'head', leave: 'closing', ...HEAD } },
  head: { reads: 'head', on: HEAD },
  unread: {
    reads: 'nothing',
    isExchange: true,
    on: { read: 'flowing', end: 'whole', spoil: 'lost', ...OPEN },
  },
  flowing: {
    reads: 'body',
    isExchange: true,
    on: { pause: 'paused', end: 'whole', spoil: 'lost', respond: 'late', ...OPEN },
  },
  paused: {
    reads: 'nothing',
    isExchange: true,
    on: { resume: 'flowing', end: 'whole', spoil: 'lost', respond: 'discarded', ...OPEN },
  },
  whole: { reads: 'nothing', isExchange: true, isWhole: true, on: OPEN },
  lost: { reads: 'nothing', isExchange: true, on: OVER },
  late: {
    reads: 'body',
    isExchange: true,
    hasResponded: true,
    on: { pause: 'discarded', end: 'done', spoil: 'ruined', ...OVER },
  },
  discarded: {
    reads: 'body',
    isExchange: true,
    hasResponded: true,
    on: { end: 'done', spoil: 'ruined', ...OVER },
  },
  done: { reads: 'nothing', isExchange: true, isWhole: true, hasResponded: true, on: OVER },
  ruined: { reads: 'nothing', isExchange: true, hasResponded: true, on: OVER },
  tunnel: { reads: 'tunnel', on: { leave: 'leaving', ...CLOSE } },
  leaving: { reads: 'tunnel', on: CLOSE },
  closing: { reads: 'nothing', on: CLOSE },
  closed: { reads: 'nothing', on: {} },
}

/** One state; undefined: the step is ignored there. */
export interface ServerState {
  readonly name: StateName
  readonly reads: Row['reads']
  readonly isExchange: boolean
  readonly isWhole: boolean
  readonly hasResponded: boolean
  readonly on: Readonly<Record<StepName, ServerState | undefined>>
}

const STEPS: Readonly<Record<StepName, undefined>> = {
  begin: undefined,
  request: undefined,
  requestWhole: undefined,
  reject: undefined,
  read: undefined,
  pause: undefined,
  resume: undefined,
  end: undefined,
  spoil: undefined,
  respond: undefined,
  finish: undefined,
  upgrade: undefined,
  leave: undefined,
  close: undefined,
}

export const STEP_NAMES = Object.keys(STEPS) as readonly StepName[]
export const STATES: Readonly<Record<StateName, ServerState>> = link()

/** Each state gets the states themselves for their names, all in one order. */
function link(): Readonly<Record<StateName, ServerState>> {
  const names = Object.keys(ROWS) as readonly StateName[]
  const states = {} as Record<StateName, ServerState>
  for (const name of names) {
    const { reads, isExchange = false, isWhole = false, hasResponded = false } = ROWS[name]
    states[name] = { name, reads, isExchange, isWhole, hasResponded, on: { ...STEPS } }
  }
  for (const name of names) {
    const on = states[name].on as Record<StepName, ServerState | undefined>
    for (const step of STEP_NAMES) {
      const next = ROWS[name].on[step]
      on[step] = next && states[next]
    }
  }
  return states
}
