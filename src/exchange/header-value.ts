const CONTROL = /[^\t\x20-\x7e\x80-\uffff]/

/**
 * RFC 9110 §5.5: whether a header with this value can be sent. A control could end the line, and a
 * lone surrogate has no bytes.
 */
export function isHeaderValue(text: string): boolean {
  // Usually the string is empty, and even starting a search takes time.
  return text === '' || (!CONTROL.test(text) && text.isWellFormed())
}
