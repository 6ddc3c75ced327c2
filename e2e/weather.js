// The tool that the tests offer, and what the tests expect of the model that is asked to use it.

export const cities = ['Paris', 'São Paulo', '東京', "L'Aquila", 'New York'];

export const getWeather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city, now.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Name of the city' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};

/** A result that no model could guess. */
export function weatherIn(city) {
  return { city, temp: 17 + city.length, sky: `mackerel over ${city}` };
}

export function question(city) {
  return `What's the weather in ${city}?`;
}
