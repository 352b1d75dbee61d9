const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'too many files are open',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'its host name cannot be resolved',
  EAI_AGAIN: 'its host name cannot be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not respond in time',
  // Of `fetch`, which has no code for it.
  'bad port': 'its port is reserved for another protocol',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8 text',
}

/** The same of a file that could not be read, with its name. */
export function unreadable(error: unknown): string {
  const { path } = error as { readonly path?: string }
  return path === undefined ? sentenceOf(error) : `${path} cannot be read: ${sentenceOf(error)}`
}

/** Why a file could not be written: then it is its folder that is missing. */
export function whyUnwritable(error: unknown): string {
  const { code } = error as { readonly code?: string }
  return code === 'ENOENT' ? 'its folder does not exist' : sentenceOf(error)
}

/** Why the system did not do something, in words instead of `ENOENT`. */
export function sentenceOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string }
  return SENTENCES[code ?? ''] ?? SENTENCES[message ?? ''] ?? message ?? String(error)
}
