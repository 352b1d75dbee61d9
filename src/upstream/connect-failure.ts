/**
 * Why a connection could not be opened, as one stable word for logs, retries and responses. The
 * messages of the operating system and OpenSSL are longer and change; they go into the detail.
 */
export type ConnectFailure =
  | 'dns'
  | 'dns-no-name'
  | 'forbidden-address'
  | 'connect-refused'
  | 'connect-unreachable'
  | 'connect-timeout'
  | 'connect-reset'
  | 'connect-denied'
  | 'connect-error'
  | 'no-descriptors'
  | 'tls-untrusted'
  | 'tls-expired'
  | 'tls-name'
  | 'tls-handshake'
  | 'tls-material'
  | 'alpn'
  | 'no-http2'

/** The coarser classes of the metric `portcullis_upstream_connection_failures_total`. */
export type FailureClass =
  | 'dns'
  | 'refused'
  | 'unreachable'
  | 'timeout'
  | 'tls'
  | 'reset'
  | 'descriptors'

export function failureClass(failure: ConnectFailure): FailureClass {
  return CLASSES[failure]
}

const CLASSES: Readonly<Record<ConnectFailure, FailureClass>> = {
  dns: 'dns',
  'dns-no-name': 'dns',
  'forbidden-address': 'refused',
  'connect-refused': 'refused',
  'connect-unreachable': 'unreachable',
  'connect-timeout': 'timeout',
  'connect-reset': 'reset',
  'connect-denied': 'refused',
  'connect-error': 'unreachable',
  'no-descriptors': 'descriptors',
  'tls-untrusted': 'tls',
  'tls-expired': 'tls',
  'tls-name': 'tls',
  'tls-handshake': 'tls',
  'tls-material': 'tls',
  alpn: 'tls',
  // Something that is not the expected endpoint responded.
  'no-http2': 'refused',
}

export function isConnectFailure(word: string): word is ConnectFailure {
  return Object.hasOwn(CLASSES, word)
}

/** Classifies an error that occurs before the connection is established. */
export function connectFailure(error: NodeJS.ErrnoException): ConnectFailure {
  return CONNECT_CODES.get(error.code ?? '') ?? 'connect-error'
}

/** Classifies an error during the handshake. */
export function handshakeFailure(error: NodeJS.ErrnoException): ConnectFailure {
  const code = error.code ?? ''
  if (EXPIRED.has(code)) return 'tls-expired'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'tls-name'
  if (code === 'ETIMEDOUT') return 'connect-timeout'
  // OpenSSL's verdicts on a chain have no prefix; errors on the wire do.
  return code === '' || /^(ERR_|E[A-Z]+$)/.test(code) ? 'tls-handshake' : 'tls-untrusted'
}

const EXPIRED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
])

const CONNECT_CODES: ReadonlyMap<string, ConnectFailure> = new Map<string, ConnectFailure>([
  ['ECONNREFUSED', 'connect-refused'],
  // For a Unix socket: the file does not exist yet.
  ['ENOENT', 'connect-refused'],
  ['ENOTSOCK', 'connect-refused'],
  ['EHOSTUNREACH', 'connect-unreachable'],
  ['ENETUNREACH', 'connect-unreachable'],
  ['EHOSTDOWN', 'connect-unreachable'],
  ['ENETDOWN', 'connect-unreachable'],
  ['EAFNOSUPPORT', 'connect-unreachable'],
  ['ETIMEDOUT', 'connect-timeout'],
  ['ECONNRESET', 'connect-reset'],
  ['ECONNABORTED', 'connect-reset'],
  ['EPIPE', 'connect-reset'],
  ['EACCES', 'connect-denied'],
  ['EPERM', 'connect-denied'],
  ['EMFILE', 'no-descriptors'],
  ['ENFILE', 'no-descriptors'],
  ['ENOBUFS', 'no-descriptors'],
  ['ENOMEM', 'no-descriptors'],
  // All local ports towards this address are in use.
  ['EADDRNOTAVAIL', 'no-descriptors'],
])
