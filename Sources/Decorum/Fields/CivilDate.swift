/// A date and time of the Gregorian calendar in UTC, computed without the calendars of the system.
///
/// Impossible dates, such as the 30th of February, are accepted: to detect them, compare ``day`` with ``daysInMonth``.
public struct CivilDate: Sendable, Hashable {
    static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static let daysPerEra: Int64 = 146_097
    private static let secondsPerDay: Int64 = 86_400

    /// The year; 0 is the year before the year 1.
    public var year: Int
    /// The month, from 1.
    public var month: Int
    /// The day of the month, from 1.
    public var day: Int
    /// The hour, from 0.
    public var hour = 0
    /// The minute, from 0.
    public var minute = 0
    /// The second, from 0; 60 is a leap second.
    public var second = 0

    /// Creates a date.
    ///
    /// - Parameters:
    ///   - year: The year.
    ///   - month: The month, from 1.
    ///   - day: The day of the month, from 1.
    ///   - hour: The hour.
    ///   - minute: The minute.
    ///   - second: The second.
    public init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The number of days in the month; 0 for a month that does not exist.
    public var daysInMonth: Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        case 1...12: 31
        default: 0
        }
    }

    /// The day of the week, where Sunday is 0.
    var weekday: Int {
        Int(((daysSince1970 + 4) % 7 + 7) % 7)
    }

    /// The seconds since 1970; a leap second counts as the second after it.
    public var seconds: Int64 {
        daysSince1970 * Self.secondsPerDay + Int64(hour * 3600 + minute * 60 + second)
    }

    // Years are counted from March, so that the leap day is the last day of a year; an era is 400 years.
    private var daysSince1970: Int64 {
        let marchYear = Int64(month <= 2 ? year - 1 : year)
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + Int64(dayOfYear)
        return era * Self.daysPerEra + dayOfEra - 719_468
    }
}

extension CivilDate {
    /// Creates the date of a number of seconds since 1970.
    ///
    /// - Parameter seconds: The seconds, which may be negative.
    public init(seconds: Int64) {
        let secondOfDay = Int((seconds % Self.secondsPerDay + Self.secondsPerDay) % Self.secondsPerDay)
        let days = (seconds - Int64(secondOfDay)) / Self.secondsPerDay + 719_468
        let era = (days >= 0 ? days : days - Self.daysPerEra + 1) / Self.daysPerEra
        let dayOfEra = days - era * Self.daysPerEra
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = Int(dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100))
        let marchMonth = (5 * dayOfYear + 2) / 153

        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = Int(clamping: yearOfEra + era * 400 + (month <= 2 ? 1 : 0))
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        hour = secondOfDay / 3600
        minute = secondOfDay % 3600 / 60
        second = secondOfDay % 60
    }
}
