/** The header in which a picker names the endpoints; clients cannot set it. */
export const DESTINATION = 'x-gateway-destination-endpoint'
