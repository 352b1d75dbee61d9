/** Messages for clients whose SDKs show a message instead of a status. They never give details. */
export function gatewayMessage(status: number, upstream: 'provider' | 'server'): string {
  return (
    MESSAGES[status]?.replace('UPSTREAM', upstream) ?? 'The gateway could not serve the request.'
  )
}

const MESSAGES: Readonly<Record<number, string | undefined>> = {
  400: 'The request was rejected by the gateway.',
  401: 'The gateway could not authenticate the request.',
  403: 'The gateway denied the request.',
  404: 'The gateway does not serve this request.',
  413: 'The request is too large for the gateway.',
  429: 'The rate limit of the gateway is exceeded.',
  502: 'The UPSTREAM sent an invalid response.',
  503: 'No UPSTREAM is available.',
  504: 'The UPSTREAM did not respond in time.',
}
