//! What kinds of things nouns name: one bit each, so that a verb can ask for several at once.

/// A set of classes.
pub(in super::super) type Class = u64;

macro_rules! classes {
    ($($name:ident = $bit:expr, $doc:literal;)*) => {
        $(#[doc = $doc] pub(in super::super) const $name: Class = 1 << $bit;)*
    };
}

classes! {
    PERSON = 0, "People by what they are or do.";
    FAMILY = 1, "Relatives, said with an owner: my sister.";
    ANIMAL = 2, "Animals.";
    FOOD = 3, "What one eats.";
    FRUIT = 4, "Fruit and vegetables: they ripen and grow in a garden.";
    DISH = 5, "What one prepares or cooks.";
    DRINK = 6, "What one drinks.";
    MASS = 7, "Not counted: some bread.";
    INSIDE = 8, "Places one is in: dans le jardin.";
    AT = 9, "Places one is at: à la gare.";
    SIGHT = 10, "Places one visits.";
    CROSSED = 11, "What one crosses.";
    ROOM = 12, "What one cleans or paints.";
    VEHICLE = 13, "Vehicles.";
    RIDE = 14, "Public transport: take the train, wait for the bus.";
    OBJECT = 15, "Things one holds, looks for, loses.";
    FRAGILE = 16, "What breaks.";
    MACHINE = 17, "What one repairs.";
    WASHED = 18, "What one washes.";
    OPENED = 19, "What one opens and closes.";
    SURFACE = 20, "What things lie on.";
    CONTAINER = 21, "What things lie in.";
    FURNITURE = 22, "Furniture.";
    CLOTHES = 23, "Clothes.";
    READ = 24, "What one reads.";
    WRITTEN = 25, "What one writes.";
    PLANT = 26, "What grows.";
    VIEW = 27, "What one looks at or admires.";
    MUSIC = 28, "What one listens to.";
    SOUND = 29, "What one hears.";
    INSTRUMENT = 30, "Musical instruments.";
    THOUGHT = 31, "What one understands or explains.";
    STORY = 32, "What one tells.";
    STUDY = 33, "What one learns.";
    BUILT = 34, "What one builds.";
    BODY = 35, "Parts of the body that hurt.";
    EVENT = 36, "What begins, lasts and ends.";
    BIRD = 37, "Animals that fly.";
    COUNTRY_SIDE = 38, "Places out of doors.";
    GIFT = 39, "What one gives.";
    WEATHER = 40, "Sun and moon: things with one of a kind.";
    MADE = 41, "What can be made of wood.";
    TOOL = 42, "Devices: useful, modern, expensive.";
    HOME = 43, "Where people live or work.";
    MAIL = 45, "What one sends by post.";
    SHUT = 46, "What one closes.";
    SLICED = 47, "What one cuts.";
    ARRANGED = 48, "What one organizes.";
    GREEN = 49, "Where flowers grow.";
    OWNABLE = 50, "People and animals one calls one's own: my friend, our dog.";
    TAME = 51, "Animals that live with people.";
    PREY = 52, "Animals that others chase.";
    PREDATOR = 53, "Animals that chase others.";
    BOOK = 54, "What one lends and recommends: books, magazines.";
    PAIRED = 55, "What comes in pairs: shoes, gloves.";
    ROYAL = 56, "One of a kind, like the queen.";
    CONSTRUCTED = 57, "What one builds oneself.";
    DEEP = 58, "Water.";
    BROAD = 59, "Roads and rivers: wide or narrow.";
    CHILD = 44, "People whose job is not the point: child, man, neighbor.";
}

/// Everyone.
pub(in super::super) const HUMAN: Class = PERSON | FAMILY;
/// What can lie around somewhere.
pub(in super::super) const THING: Class = OBJECT | CLOTHES | READ;
/// Places of any kind.
pub(in super::super) const PLACE: Class = INSIDE | AT;
