/** Maps A2A 0.3 method names to those of 1.0. */
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

/** Returns one name for the same method in all revisions; unknown names stay as written. */
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
  // Common servers ignore case and a trailing slash.
  path: new RegExp(`/${path}/?$`, 'i'),
  method,
})

const TASK = 'tasks/([^/]+?)'
const CONFIGS = 'pushNotificationConfigs'

/** In matching order: the most specific first. */
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

/** True for a request for the agent card. `path` is decoded. */
export function isCardPath(path: string): boolean {
  return CARD.test(path)
}

/** `path` is decoded. Returns undefined if it is not a REST call. */
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
