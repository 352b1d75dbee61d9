// HOT PATH: the state of a client connection, checked for each piece of bytes. Guarded by
// bench/proxy.ts. Liberties: states are objects of one shape, so that a step is one load.

/*
 * The states of a client's connection, and the steps between them. A step that a state does not
 * name is ignored there: a late event, such as a backend response after its client is gone, changes
 * nothing. server-states.test.ts tests this table, alone and on real connections.
 */

export type StateName =
  /** Between two requests. */
  | 'idle'
  /** Some bytes of a head have arrived. */
  | 'head'
  /** A request has arrived; its body is not being read yet. */
  | 'unread'
  | 'flowing'
  /** The consumer of the body has paused it. */
  | 'paused'
  /** The request is complete, the response is not. */
  | 'whole'
  /** The rest of the body cannot be read; there is no response yet. */
  | 'lost'
  /** The response is complete, and the rest of the request is still delivered to its consumer. */
  | 'late'
  /** The same without a consumer: the rest is skipped, since the next request follows it. */
  | 'discarded'
  /** The response is complete, and so is the request, which ended after it. */
  | 'done'
  /** The response is complete, and the rest of the request cannot be read. */
  | 'ruined'
  /** After 101: bytes both ways. */
  | 'tunnel'
  /** The backend has ended its tunnel. */
  | 'leaving'
  /** Nothing more is read or written; the client has a moment to accept what was written. */
  | 'closing'
  | 'closed'

export type StepName =
  /** Part of a head arrived. */
  | 'begin'
  /** A complete head arrived, of a request with a body, or without. */
  | 'request'
  | 'requestWhole'
  /** Bytes arrived that are not a request. */
  | 'reject'
  /** The consumer starts reading the body; pauses it; resumes it. */
  | 'read'
  | 'pause'
  | 'resume'
  /** The body is complete; it cannot be read any further. */
  | 'end'
  | 'spoil'
  /** The response is complete before the request is. */
  | 'respond'
  /** The exchange is over. */
  | 'finish'
  | 'upgrade'
  /** The gateway has finished writing. */
  | 'leave'
  | 'close'

interface Row {
  /** What the client's bytes are in this state. */
  readonly reads: 'head' | 'body' | 'tunnel' | 'nothing'
  /** A request is in progress. */
  readonly isExchange?: true
  /** The request has arrived completely. */
  readonly isWhole?: true
  /** Its response is complete: there must not be another one. */
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

/** Links each state to the state objects for its steps, with all properties in one order. */
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
