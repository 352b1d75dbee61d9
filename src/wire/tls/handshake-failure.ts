/** Why a handshake with a client failed. The words are stable, since metrics contain them. */
export type HandshakeFailure =
  | 'version'
  | 'cipher'
  | 'unknown-name'
  | 'alpn'
  | 'client-certificate-missing'
  | 'client-certificate-invalid'
  | 'certificate-refused'
  | 'timeout'
  | 'reset'
  | 'malformed'

const BY_CODE: Readonly<Record<string, HandshakeFailure>> = {
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'version',
  ERR_SSL_VERSION_TOO_LOW: 'version',
  ERR_SSL_VERSION_TOO_HIGH: 'version',
  ERR_SSL_UNKNOWN_PROTOCOL: 'version',
  ERR_SSL_INAPPROPRIATE_FALLBACK: 'version',
  ERR_SSL_NO_SHARED_CIPHER: 'cipher',
  ERR_SSL_NO_SHARED_GROUPS: 'cipher',
  ERR_SSL_NO_SUITABLE_KEY_SHARE: 'cipher',
  ERR_SSL_NO_SUITABLE_GROUPS: 'cipher',
  ERR_SSL_NO_SUITABLE_SIGNATURE_ALGORITHM: 'cipher',
  ERR_SSL_NO_APPLICATION_PROTOCOL: 'alpn',
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'client-certificate-missing',
  ERR_SSL_CERTIFICATE_VERIFY_FAILED: 'client-certificate-invalid',
  ERR_SSL_BAD_SIGNATURE: 'client-certificate-invalid',
  ERR_TLS_HANDSHAKE_TIMEOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ETIMEDOUT: 'timeout',
}

/** Alerts of a client that rejects the gateway's certificate. */
const REJECTED = /ALERT_(UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_\w+|UNSUPPORTED_CERTIFICATE)$/

export function handshakeFailure(code: string | undefined): HandshakeFailure {
  if (code === undefined) return 'malformed'
  return BY_CODE[code] ?? (REJECTED.test(code) ? 'certificate-refused' : 'malformed')
}
