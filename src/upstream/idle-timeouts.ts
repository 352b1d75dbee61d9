/*
 * Max milliseconds that a backend may be silent after its response began, unless configured: those
 * of Envoy, and of our TCP listeners. Without them, a backend that hangs would hold a request, and
 * one of the limited connections of its client, forever.
 */

/** While the client accepts more of the response. */
export const RESPONSE_IDLE = 300_000
/** Without bytes in either direction after a response with status 101. */
export const TUNNEL_IDLE = 3_600_000
/** For the response to a copy of a request, which is not used. */
export const MIRROR_IDLE = 30_000
