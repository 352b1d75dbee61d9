/** Names of methods in A2A 0.3, by those of 1.0. */
const LEGACY: Readonly<Record<string, string>> = {
  'message/send': 'SendMessage',
  'message/stream': 'SendStreamingMessage',
  'tasks/get': 'GetTask',
  'tasks/list': 'ListTasks',
  'tasks/cancel': 'CancelTask',
  'tasks/resubscribe': 'SubscribeToTask',
  'tasks/pushNotificationConfig/set': 'CreateTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/get': 'GetTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/list': 'ListTaskPushNotificationConfigs',
  'tasks/pushNotificationConfig/delete': 'DeleteTaskPushNotificationConfig',
  'agent/getAuthenticatedExtendedCard': 'GetExtendedAgentCard',
}

/** One name for what is the same in all revisions; what is not known stays as it is written. */
export function methodOf(written: string): string {
  return Object.hasOwn(LEGACY, written) ? (LEGACY[written] as string) : written
}

export interface RestCall {
  readonly method: string
  readonly taskId?: string
}

interface RestPattern {
  readonly verbs: string
  readonly path: RegExp
  readonly method: string
}

const rest = (verbs: string, path: string, method: string): RestPattern => ({
  verbs,
  // Servers of the field do not mind the case of letters or a slash at the end.
  path: new RegExp(`/${path}/?$`, 'i'),
  method,
})

const TASK = 'tasks/([^/]+?)'
const CONFIGS = 'pushNotificationConfigs'

/** In the order in which they are tried: the most specific first. */
const REST: readonly RestPattern[] = [
  rest('POST', 'message:send', 'SendMessage'),
  rest('POST', 'message:stream', 'SendStreamingMessage'),
  rest('POST', `${TASK}:cancel`, 'CancelTask'),
  rest('GET POST', `${TASK}:subscribe`, 'SubscribeToTask'),
  rest('POST', `${TASK}/${CONFIGS}`, 'CreateTaskPushNotificationConfig'),
  rest('GET', `${TASK}/${CONFIGS}`, 'ListTaskPushNotificationConfigs'),
  rest('GET', `${TASK}/${CONFIGS}/[^/]+`, 'GetTaskPushNotificationConfig'),
  rest('DELETE', `${TASK}/${CONFIGS}/[^/]+`, 'DeleteTaskPushNotificationConfig'),
  rest('GET', TASK, 'GetTask'),
  rest('GET', 'tasks', 'ListTasks'),
  rest('GET', '(?:extendedAgentCard|v1/card)', 'GetExtendedAgentCard'),
]

const CARD = /\/\.well-known\/agent(?:-card)?\.json\/?$/i

/** A request for the card that says what the agent is. `path`: decoded. */
export function isCardPath(path: string): boolean {
  return CARD.test(path)
}

/** `path`: decoded. Undefined: it is none of them. */
export function restCallOf(verb: string, path: string): RestCall | undefined {
  const own = verb === 'HEAD' ? 'GET' : verb
  for (const { verbs, path: pattern, method } of REST) {
    if (!verbs.split(' ').includes(own)) continue
    const found = pattern.exec(path)
    if (found === null) continue
    const [, taskId] = found
    return taskId === undefined ? { method } : { method, taskId }
  }
  return undefined
}
