const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on device',
  EEXIST: 'the file already exists',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a component of the path is not a directory',
  ELOOP: 'too many levels of symbolic links',
  ENAMETOOLONG: 'the file name is too long',
  EMFILE: 'too many open files',
  EADDRINUSE: 'the address is already in use',
  EADDRNOTAVAIL: 'the address is not available on this machine',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'the hostname cannot be resolved',
  EAI_AGAIN: 'the hostname cannot be resolved',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'timed out',
  // From `fetch`, which has no error code for it.
  'bad port': 'the port is reserved for another protocol',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not valid UTF-8',
}

/** Why a file could not be read, with its name. */
export function unreadable(error: unknown): string {
  const { path } = error as { readonly path?: string }
  return path === undefined ? sentenceOf(error) : `${path} cannot be read: ${sentenceOf(error)}`
}

/** Why a file could not be written; ENOENT then means that the directory is missing. */
export function whyUnwritable(error: unknown): string {
  const { code } = error as { readonly code?: string }
  return code === 'ENOENT' ? 'the directory does not exist' : sentenceOf(error)
}

/** Why a system call failed, in words instead of `ENOENT`. */
export function sentenceOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string }
  return SENTENCES[code ?? ''] ?? SENTENCES[message ?? ''] ?? message ?? String(error)
}
